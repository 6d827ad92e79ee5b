/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/kernel_bugs: holes of the Linux kernel that are of public record, by version. No I/O.
 *
 * A short list: those that were used to get out of containers, or could be, of kernels that atoll runs on at all. That
 * a kernel has none of them does not make it a good one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_version {
	uint32_t number; /* KERNEL(6, 1, 76) */
	/* fixes come with a new number: kernel.org, Debian; else they may have been taken over without one */
	bool exact;
};

#define KERNEL(a, b, c) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c))

struct kernel_bug {
	const char *cve, *what;
	bool reachable;  /* with what programs in a sandbox may call */
	const char *why; /* it is, or is not */
	struct {
		uint32_t from, until;
	} has[5]; /* versions that have it, the last of each pair not any more; zero: the end */
};

extern const struct kernel_bug kernel_bugs[];
extern const size_t n_kernel_bugs;

/* release and version as of uname(2). False: this is no number. */
bool kernel_version_parse(const char *release, const char *version, struct kernel_version *ret);
bool kernel_has_bug(const struct kernel_version *v, const struct kernel_bug *b);
