/* SPDX-License-Identifier: Apache-2.0 */
/* child: waits for a child process that nobody needs an answer from, without ever blocking on it. */
#pragma once

#include <sys/types.h>

struct loop;

void child_forget(struct loop *l, pid_t pid);
