/* SPDX-License-Identifier: Apache-2.0 */
/* proc: identifies processes reliably, although pids are reused. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

int proc_start_time(pid_t pid, uint64_t *ret);              /* field 22 of /proc/PID/stat; -ESRCH */
int proc_parse_start_time(const char *stat, uint64_t *ret); /* parses the text of that file; -EBADMSG */
int proc_pid_of(int pidfd, pid_t *ret);                     /* in our pid namespace; -ESRCH */

/* Opens a pidfd of the process with that pid and start time. -ESRCH: it is gone, even if another process has the
 * pid now. */
int proc_open(pid_t pid, uint64_t start, int *ret_pidfd);

/* The same across restarts: a file of one line with pid, start time and boot id. -ESRCH or -ENOENT: no such
 * process, or not any more. Two processes must not write the same name at once. */
int proc_record_open(int dir_fd, const char *name, const char *boot_id, int *ret_pidfd);
int proc_record_write(int dir_fd, const char *name, const char *boot_id, int pidfd, struct err *e);

int proc_wait_gone(int pidfd, int timeout_ms); /* 0, -ETIMEDOUT */
int proc_kill(int pidfd);                      /* SIGKILL; 0 if it is already gone */
