/* SPDX-License-Identifier: Apache-2.0 */
/* join_lib: the parts of the library, and the functions that its loader calls
 * (runtimes/python/atoll_kernel/zygote.py). All return 0 or -errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int atoll_prepare(void);                          /* once, in the zygote, when it is warm and before the first copy */
void atoll_pin(const uint64_t *places, size_t n); /* reference counts of immortal objects */
int atoll_fork(int userns, int pidns);
int atoll_enter(int pidfd);
int atoll_visible(void);

/* Open in the zygote until atoll_prepare(): an empty file, or absent. */
#define JOIN_BASE_FD 5

/* Detaches the memory from every file except base, which receives all of it; -1: moves it to private huge pages. */
int memory_detach(int base);
int memory_name_exe(const char *path); /* sets what /proc/PID/exe shows, once nothing is mapped from the original
					* program */
