/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/request: one call of the control API, from its head to its answer.
 *
 * Counted, because an answer may be due long after the client has gone: `http` is NULL then, and
 * answering does nothing. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "front/api/auth.h"
#include "ipc/msg.h"

struct front;
struct http_req;
struct route;
struct sandbox;

struct req {
	struct front *front;
	struct http_req *http; /* NULL: the client is gone, or has its answer */
	const struct route *route;
	TAILQ_ENTRY(req) reading; /* while is_reading: its body is coming in */
	bool is_reading;
	bool ready;   /* may be handled when its body is there */
	bool is_rate; /* refused because of the rate */
	unsigned refs;
	uint64_t began_us;
	int status; /* of the answer; 0: none yet */
	char id[REQUEST_ID_SIZE], session[REQUEST_ID_SIZE];
	struct caller caller;
	char method[8];
	char *param, *param2;  /* what stands for the {} of the path, decoded; NULL without one */
	char sandbox[ID_SIZE]; /* that it is about, for the log */
	struct buf body;
	void *work; /* of its handler; freed with it */
};

TAILQ_HEAD(req_list, req);
LIST_HEAD(req_waits, req_wait_entry);

void req_begin(struct front *f, struct http_req *rq); /* matches the route, reads the body, calls the handler */
struct req *req_ref(struct req *r);
void req_unref(struct req *r);
void req_end_slow(struct front *f); /* once a second: those whose body takes too long */

/* The body as an object; answers 400 by itself and returns NULL if it is not one. New reference. */
json_t *req_json(struct req *r, bool allow_empty);

/* The id in the path without a client's suffix; answers 400 by itself and returns -EINVAL. */
int req_sandbox_id(struct req *r, struct str *ret);

/* Is there a sandbox of that path parameter, and is it the caller's own? After req_sandbox_id(). */
bool req_owns_sandbox(const struct req *r);

/* The caller's own sandbox of that path parameter; answers 400 or 404 by itself and returns NULL. Borrowed. */
struct sandbox *req_sandbox(struct req *r);

/* Calls `then` when the state of sb settles next. */
void req_wait(struct req *r, struct sandbox *sb, void (*then)(struct req *r, struct sandbox *sb));
/* as if it had come only then */
void req_again(struct req *r, struct sandbox *sb, void (*handler)(struct req *r));

/* Once a second: requests that wait for a warden that does not answer are told so. What they asked for may still be
 * done. */
void req_waiting_tick(struct front *f);
