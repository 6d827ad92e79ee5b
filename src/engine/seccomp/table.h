/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp_table: which system calls a sandbox has, as data: groups of calls, and what is looked at in their
 * arguments. */
#pragma once

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

enum seccomp_verdict {
	SECCOMP_GIVEN,   /* the call is there */
	SECCOMP_REFUSED, /* EPERM: who tries it should hear that they may not */
	SECCOMP_ABSENT,  /* ENOSYS: who tries it has another way when it is not there */
};

struct seccomp_group {
	enum seccomp_verdict verdict;
	bool quiet; /* not worth an event: every other program tries it and goes on */
	const char *why;
	const char *calls; /* names with blanks between them; one that is not known here answers ENOSYS */
};

#define SECCOMP_ARGS_MAX 2

/* of a call that is given: if all of args match, it fails with this errno; 0: it pretends success */
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
