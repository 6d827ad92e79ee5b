/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: which system calls a sandbox has.
 *
 * Two filters, compiled once: one lists the calls that exist at all (every other one answers ENOSYS or EPERM), one looks at
 * arguments. The kernel runs both and takes the stricter answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct sock_filter;

struct seccomp_filter {
	struct sock_filter *calls, *args;
	unsigned short n_calls, n_args;
};

/* zygote: with setns(), which its copies refuse to themselves once they have joined a sandbox. */
int seccomp_filter_build(struct seccomp_filter *ret, bool zygote, struct err *e);
void seccomp_filter_done(struct seccomp_filter *f);

/* Needs CAP_SYS_ADMIN in the user namespace (no_new_privs must stay off: sudo), so it comes before capabilities go. */
int seccomp_filter_install(const struct seccomp_filter *f, struct err *e);
