/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp_table: the system calls that a sandbox has, as data: groups of calls, and rules for their arguments. */
#pragma once

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

enum seccomp_verdict {
	SECCOMP_GIVEN,   /* allowed */
	SECCOMP_REFUSED, /* EPERM: the caller should learn that it may not do this */
	SECCOMP_ABSENT,  /* ENOSYS: callers have a fallback for when the call does not exist */
};

struct seccomp_group {
	enum seccomp_verdict verdict;
	bool quiet; /* not logged: many programs try it and continue without it */
	const char *why;
	const char *calls; /* names separated by blanks; a name unknown on this architecture returns ENOSYS */
};

#define SECCOMP_ARGS_MAX 2

/* For a call that is allowed: if all of args match, it fails with this errno; 0: it pretends success. */
struct seccomp_arg_rule {
	const char *call;
	int no;
	bool quiet;
	const char *why;
	unsigned n_args;
	struct scmp_arg_cmp args[SECCOMP_ARGS_MAX];
};

extern const struct seccomp_group seccomp_groups[];
extern const size_t n_seccomp_groups;
extern const struct seccomp_arg_rule seccomp_arg_rules[];
extern const size_t n_seccomp_arg_rules;
