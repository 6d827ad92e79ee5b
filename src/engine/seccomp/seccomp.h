/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: which system calls a sandbox has (table.c), as filters for the kernel.
 *
 * Three of them, compiled once. The kernel runs all and takes the strictest answer; of equal ones it takes that
 * of the filter that was installed last, and it tells of a refusal (audit/) if that filter is one of those that
 * are told of. So the quiet one goes last. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct sock_filter;

enum { SECCOMP_CALLS, SECCOMP_ARGS, SECCOMP_QUIET, SECCOMP_PARTS };

struct seccomp_filter {
	unsigned flags;
	struct {
		struct sock_filter *code;
		unsigned short n;
	} part[SECCOMP_PARTS];
};

#define SECCOMP_ZYGOTE 1u /* with setns(), which its copies refuse to themselves once they have joined a sandbox */
#define SECCOMP_TOLD 2u   /* the kernel tells of refusals; only where somebody listens, and stops a flood of them */

int seccomp_filter_build(struct seccomp_filter *ret, unsigned flags, struct err *e);
void seccomp_filter_done(struct seccomp_filter *f);

/* Needs CAP_SYS_ADMIN in the user namespace (no_new_privs must stay off: sudo), so it comes before capabilities go. */
int seccomp_filter_install(const struct seccomp_filter *f, struct err *e);

#define SECCOMP_NAME_SIZE 32

/* Of a refused call: its name, or "syscall 470", and why it is refused, or why it could be. arch: of the audit
 * record. */
const char *seccomp_explain(unsigned arch, int nr, char ret_name[SECCOMP_NAME_SIZE]);
