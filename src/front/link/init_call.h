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
	int fd;          /* an idle connection to init, owned; -1: the warden opens one */
	uint64_t wait_ms;
	bool want_body; /* collect the body of the answer */
};

struct init_result {
	int no;           /* 0, or an errno value if there was no answer */
	const char *text; /* message, if no != 0 */
	int status;
	struct str body; /* body of the answer, if requested; valid during the call */
	/* the connection, idle again, now owned by the receiver; -1: it is closed */
	int fd;
};

typedef void init_call_fn(void *user, const struct init_result *re);

/* fn is called once, never from inside; the call has been freed by then. rq and what it points to are needed only
 * until this returns. */
struct init_call *init_call_new(struct links *l, const struct init_request *rq, init_call_fn *fn, void *user);
void init_call_free(struct init_call *c); /* cancels: fn is not called. NULL is fine */
