/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/backup: what a backup consists of; a directory with these files, SHA256SUMS and the signature of that.
 *
 *	manifest		BACKUP_FORMAT and what the copy was taken from, a line each
 *	atoll.db		the database
 *	key, secrets.key	the local API key; what the secrets in the database are sealed with
 *	tls-NAME		the files of STATE/tls
 *	NAME+d.btrfs ...	streams of btrfs-send(8): disks (d), memories (m), volumes (v) */
#pragma once

struct err;

#define BACKUP_FORMAT 1
/* NAMEd+b is a copy of NAME+d in the pool while it is being written; a server that starts, and the next backup, remove
 * it */
#define BACKUP_COPY "b"
#define BACKUP_STREAM ".btrfs"
/* in the state directory: 32 bytes that backups and exported snapshots are signed with */
#define BACKUP_KEY "export.key"
#define BACKUP_HURRY "write-memory" /* in the front's directory: see SANDBOX_HURRY in front/sandbox/sandbox.h */

/* From then on we see the file system as the server does: the pool is mounted for it alone. */
int backup_join_warden(const char *run_dir, struct err *e);

/* Copies in the pool have names that any other would take, too: one backup, export or import at a time. Held until
 * pool_fd is closed. */
int backup_lock(int storage_fd, struct err *e);
