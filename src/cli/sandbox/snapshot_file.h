/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/snapshot_file: the format of a snapshot file.
 *
 *	head		struct snapshot_head, little endian
 *	meta		JSON: the snapshot's name and origin
 *	disk		a stream of btrfs-send(8)
 *	memory		another one, or nothing
 *	mac		HMAC-SHA256 of everything before it
 *
 * Restoring memory means trusting every byte of it, as root. Therefore the MAC of the whole file is checked first,
 * and a file that was not signed with our key is not parsed any further. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SNAPSHOT_MAGIC "atoll-snapshot\n"
#define SNAPSHOT_VERSION 1
#define SNAPSHOT_META_MAX (64 * 1024)
#define SNAPSHOT_KEY_BYTES 32
#define SNAPSHOT_MAC_BYTES 32

struct snapshot_head {
	char magic[16];
	uint32_t version, meta_bytes;
	uint64_t disk_bytes, memory_bytes;
	uint8_t zero[24];
};

void snapshot_head_make(struct snapshot_head *ret, uint32_t meta_bytes, uint64_t disk_bytes, uint64_t memory_bytes);

/* Checks the first n bytes of a file of file_bytes. Returns -EBADMSG if it is not a snapshot file or is incomplete,
 * -EPROTO if its version is newer. */
int snapshot_head_check(const void *p, size_t n, uint64_t file_bytes, struct snapshot_head *ret, struct err *e);

/* Reads the key from key_file, which is created if it is missing and may_make is set. */
int snapshot_key(const char *key_file, int may_make, uint8_t ret[SNAPSHOT_KEY_BYTES], struct err *e);
int snapshot_mac(int fd, uint64_t n, const uint8_t key[SNAPSHOT_KEY_BYTES], uint8_t ret[SNAPSHOT_MAC_BYTES],
    struct err *e);
