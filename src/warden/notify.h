/* SPDX-License-Identifier: Apache-2.0 */
/* notify: reports to the service manager, as sd_notify(3) does. All of it is optional: without NOTIFY_SOCKET nothing is
 * sent, and an error is not more than a warning. */
#pragma once

/* Connects to $NOTIFY_SOCKET and removes the variable, so that no child reports in our name. -1: nobody waits. */
int notify_open(void);
void notify_ready(int fd);    /* clients are served */
void notify_stopping(int fd); /* the end was asked for, and is under way */
