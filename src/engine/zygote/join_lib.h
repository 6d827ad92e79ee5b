/* SPDX-License-Identifier: Apache-2.0 */
/* join_lib: what the library is made of, and what its loader calls (runtimes/python/atoll_kernel/zygote.py). All give 0
 * or -errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int atoll_prepare(void);                          /* once, in the zygote, when it is warm and before the first copy */
void atoll_pin(const uint64_t *places, size_t n); /* reference counts of objects that stay for ever */
int atoll_fork(int userns, int pidns);
int atoll_enter(int pidfd);
int atoll_visible(void);

/* open in the zygote until it is prepared: an empty file, or not there */
#define JOIN_BASE_FD 5

/* from every file but base, which gets all of it; -1: into huge pages of its own */
int memory_detach(int base);
int memory_name_exe(const char *path); /* what /proc/PID/exe is, when nothing is mapped from what it was */
