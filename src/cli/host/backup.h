/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/backup: the format of a backup: a directory with these files, SHA256SUMS and its signature.
 *
 *	manifest		BACKUP_FORMAT and where the copy was made, one item per line
 *	atoll.db		the database
 *	key, secrets.key	the local API key; the key that seals the secrets in the database
 *	tls-NAME		the files of STATE/tls
 *	NAME+d.btrfs ...	streams of btrfs-send(8): disks (d), checkpoints (m), volumes (v) */
#pragma once

struct err;

#define BACKUP_FORMAT 1
/* While NAME+d is being written, NAMEd+b is its snapshot in the storage. The server on start, and the next backup,
 * remove any that are left. */
#define BACKUP_COPY "b"
#define BACKUP_STREAM ".btrfs"
/* In the state directory: 32 bytes, the key that signs backups and exported snapshots. */
#define BACKUP_KEY "export.key"
#define BACKUP_HURRY "write-memory" /* in the front's directory: see SANDBOX_HURRY in front/sandbox/sandbox.h */

/* Enters the warden's mount namespace, in which alone the storage is mounted. */
int backup_join_warden(const char *run_dir, struct err *e);

/* Ensures that only one backup, export or import runs at a time, because their snapshots in the storage would have
 * the same names. The lock is held until storage_fd is closed. */
int backup_lock(int storage_fd, struct err *e);
