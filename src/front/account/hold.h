/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/hold: delays refusals for addresses that have sent many wrong keys. */
#pragma once

#include "front/account/penalty.h"

struct accounts;
struct held;
struct http_req;

struct hold_ops {
	void (*refuse)(void *user, const char *text); /* the delay is over; the handle is gone */
	void (*drop)(void *user);                     /* the front ends; likewise */
};

/* Counts a wrong key for the address of the client. Returns the delay of the refusal in ms; -1: too many are delayed
 * already. After a positive delay the caller calls hold_refusal(). */
int hold_count(struct accounts *a, const struct http_req *rq, struct penalty_addr *ret_from);

/* Calls refuse() after that time. NULL: out of memory, the caller refuses at once. */
struct held *hold_refusal(struct accounts *a, const struct penalty_addr *from, const char *text, int ms,
    const struct hold_ops *ops, void *user);
void hold_cancel(struct held *h); /* the client has disconnected: calls nothing */
void hold_end_all(struct accounts *a);
