/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: compiles the system calls that a sandbox has (table.c) into filters for the kernel.
 *
 * There are three filters, compiled once. The kernel runs all of them and takes the strictest verdict. Among equal
 * verdicts it takes that of the filter installed last, and it logs a refusal only if that filter was installed
 * with logging. So the quiet filter is installed last. */
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

#define SECCOMP_ZYGOTE 1u /* allows setns(), which copies of the zygote deny themselves after joining a sandbox */
#define SECCOMP_TOLD 2u   /* the kernel logs refusals; only if a process reads them and limits their rate */

int seccomp_filter_build(struct seccomp_filter *ret, unsigned flags, struct err *e);
void seccomp_filter_done(struct seccomp_filter *f);

/* Needs CAP_SYS_ADMIN in the user namespace (no_new_privs must stay off, for sudo), so it runs before capabilities
 * are dropped. */
int seccomp_filter_install(const struct seccomp_filter *f, struct err *e);

#define SECCOMP_NAME_SIZE 32

/* Describes a refused call: its name, or "syscall 470", and why it is or may be refused. arch: from the audit
 * record. */
const char *seccomp_explain(unsigned arch, int nr, char ret_name[SECCOMP_NAME_SIZE]);
