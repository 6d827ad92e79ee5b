/* SPDX-License-Identifier: Apache-2.0 */
/* join_lib: the parts of the library, and the functions that its loader calls
 * (runtimes/python/atoll_kernel/zygote.py). All return 0 or -errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int atoll_prepare(void);                          /* once, in the zygote, when it is warm and before the first copy */
void atoll_pin(const uint64_t *places, size_t n); /* reference counts of immortal objects */
int atoll_fork(int pidns);
/* Expects the descriptors below and keeps 0, 1, 2 and JOIN_KEPT_FD. Does not return if it fails. */
void atoll_enter(unsigned open_files);
int atoll_visible(void);

/* The pages that a copy needs first (join_pages.c). apart: called in a copy that ends soon; from then on, what it has
 * of the shared file is what it uses. used: lists that; returns how many there are. take: called in the zygote, maps
 * these pages of the file and no others. Without a shared file all of them do nothing. */
int atoll_pages_apart(void);
int atoll_pages_used(uint64_t *ret, size_t max);
int atoll_pages_take(const uint64_t *pages, size_t n);

/* Of a copy that enters: the user namespace and pid 1 of its sandbox, and its own socket. */
#define JOIN_USERNS_FD 4
#define JOIN_PID_FD 5
#define JOIN_SEED_FD 6
#define JOIN_KEPT_FD 3 /* what the socket becomes */

/* Open in the zygote until atoll_prepare(): an empty file, or absent. */
#define JOIN_BASE_FD 5

/* Detaches the memory from every file except base, which receives all of it; -1: moves it to private huge pages. */
int memory_detach(int base);
/* The i-th mapping of that file, maybe an empty one; false: there are no more. */
bool memory_shared(size_t i, uintptr_t *ret_from, uintptr_t *ret_to);
int memory_name_exe(const char *path); /* sets what /proc/PID/exe shows, once nothing is mapped from the original
					* program */
