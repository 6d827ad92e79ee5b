/* SPDX-License-Identifier: Apache-2.0 */
/* oci/inoset: a set of inode numbers: what one layer has put down, in a tree that has one file system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inoset {
	uint64_t *v;   /* open addressing; 0: free, 1: was taken */
	size_t n, cap; /* n counts both */
};

int inoset_add(struct inoset *s, uint64_t ino); /* -ENOMEM */
bool inoset_has(const struct inoset *s, uint64_t ino);
void inoset_drop(struct inoset *s, uint64_t ino); /* not there is fine */
void inoset_done(struct inoset *s);
