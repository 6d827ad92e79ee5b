/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/snapshot_file: a snapshot as one file.
 *
 *	head		struct snapshot_head, little endian
 *	meta		JSON: what the snapshot is called, what it was made from
 *	disk		a stream of btrfs-send(8)
 *	memory		another one, or nothing
 *	mac		HMAC-SHA256 over all that stands before it
 *
 * To bring memory back to life is to believe every byte of it, with root's power: what is not made with our key is not
 * looked at any further. So the key is checked first, over the whole file, and what comes after it is our own. */
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

/* The first n bytes of a file of that size. -EBADMSG: not such a file, or not all of it; -EPROTO: of a newer
 * version. */
int snapshot_head_check(const void *p, size_t n, uint64_t file_bytes, struct snapshot_head *ret, struct err *e);

/* key_file is made if it is not there and may be. */
int snapshot_key(const char *key_file, int may_make, uint8_t ret[SNAPSHOT_KEY_BYTES], struct err *e);
int snapshot_mac(int fd, uint64_t n, const uint8_t key[SNAPSHOT_KEY_BYTES], uint8_t ret[SNAPSHOT_MAC_BYTES],
    struct err *e);
