/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/kernel_bugs: published vulnerabilities of the Linux kernel, by version. No I/O.
 *
 * A short list: vulnerabilities that were or could be used to escape from containers, in kernels that atoll supports.
 * A kernel that has none of them is not necessarily secure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_version {
	uint32_t number; /* KERNEL(6, 1, 76) */
	/* The version number shows which fixes are included, as for kernel.org and Debian. Other distributions
	 * backport fixes without changing it. */
	bool exact;
};

#define KERNEL(a, b, c) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c))

struct kernel_bug {
	const char *cve, *what;
	bool reachable;  /* by system calls that sandboxes may use */
	const char *why; /* why it is or is not reachable */
	struct {
		uint32_t from, until;
	} has[5]; /* affected versions, `until` excluded; ends with zeros */
};

extern const struct kernel_bug kernel_bugs[];
extern const size_t n_kernel_bugs;

/* Parses release and version as returned by uname(2). Returns false if they contain no version number. */
bool kernel_version_parse(const char *release, const char *version, struct kernel_version *ret);
bool kernel_has_bug(const struct kernel_version *v, const struct kernel_bug *b);
