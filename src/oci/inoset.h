/* SPDX-License-Identifier: Apache-2.0 */
/* oci/inoset: a set of inode numbers: the files that one layer has created, in a tree on one file system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inoset {
	uint64_t *v;   /* open addressing; 0: free, 1: deleted */
	size_t n, cap; /* n counts used and deleted entries */
};

int inoset_add(struct inoset *s, uint64_t ino); /* -ENOMEM */
bool inoset_has(const struct inoset *s, uint64_t ino);
void inoset_drop(struct inoset *s, uint64_t ino); /* no-op if it is not in the set */
void inoset_done(struct inoset *s);
