/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_call: one short request to the init of a sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct links;
struct init_call;

struct init_request {
	const char *id;      /* of the sandbox */
	const char *request; /* correlation id, "": none */
	const char *method, *path;
	struct str body; /* JSON, or STR_NULL */
	int fd;          /* an idle connection to it, owned; -1: the warden makes one */
	uint64_t wait_ms;
	bool want_body; /* of the answer */
};

struct init_result {
	int no;           /* 0, or an errno value: no answer came */
	const char *text; /* why, with no != 0 */
	int status;
	struct str body; /* of the answer, if it was wanted; lives during the call */
	/* the connection, free for the next request: the receiver's; -1: it is closed */
	int fd;
};

typedef void init_call_fn(void *user, const struct init_result *re);

/* fn is called once, never from inside; afterwards the call is gone. What rq points to is needed until it returns. */
struct init_call *init_call_new(struct links *l, const struct init_request *rq, init_call_fn *fn, void *user);
void init_call_free(struct init_call *c); /* not wanted any more: fn is not called. NULL is fine */
