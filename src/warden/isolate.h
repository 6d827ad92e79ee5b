/* SPDX-License-Identifier: Apache-2.0 */
/* isolate: what the warden does to its own process, in the order in which it is called.
 *
 *	host	raises limits that sandboxes share with the host; needs nothing
 *	mounts	a private mount namespace; before anything is mounted
 *	calls	the system calls that neither it nor a sandbox makes; before the loop, since libuv from 1.45 on would
 *		set up an
 *		io_uring for its epoll_ctl() and abort when it is refused later
 *	power	gives up what the warden never uses; last, when every socket and the engine are open */
#pragma once

#include "base/err.h"

void isolate_host(void);
int isolate_mounts(struct err *e);
int isolate_calls(struct err *e);
int isolate_power(struct err *e);
