/* SPDX-License-Identifier: Apache-2.0 */
/* isolate: how the warden confines its own process, in the order of the calls.
 *
 *	host	raises host limits that the sandboxes share; has no prerequisites
 *	mounts	enters a private mount namespace; before anything is mounted
 *	calls	filters system calls that neither the warden nor a sandbox makes; before the loop is created, because
 *		libuv 1.45 and later sets up an io_uring for epoll_ctl() and aborts if it is refused later
 *	power	drops the capabilities that the warden never uses; last, when all sockets and the engine are open */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

void isolate_host(void);
void isolate_places(uint32_t n); /* raises those that grow with the number of places; once the firewall is loaded */
int isolate_mounts(struct err *e);
int isolate_calls(bool has_swap, struct err *e); /* has_swap: it will remove a swap device of its own */
int isolate_power(struct err *e);
