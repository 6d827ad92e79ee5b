/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/request: one request to the control API, from its head to its answer.
 *
 * It is reference-counted, because the answer may be sent long after the client has disconnected. `http` is NULL
 * then, and sending an answer does nothing. */
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
	struct http_req *http; /* NULL: the client has disconnected or has its answer */
	const struct route *route;
	TAILQ_ENTRY(req) reading; /* while is_reading: the body is being read */
	bool is_reading;
	bool ready;   /* the handler may be called once the body is complete */
	bool is_rate; /* refused by the rate limit */
	unsigned refs;
	uint64_t began_us;
	int status; /* of the answer; 0: none sent yet */
	char id[REQUEST_ID_SIZE], session[REQUEST_ID_SIZE];
	struct caller caller;
	char method[8];
	char *param, *param2;  /* values of the {} in the path, decoded; NULL: none */
	char sandbox[ID_SIZE]; /* id of its sandbox, for the log */
	struct buf body;
	void *work; /* of the handler; freed with the request */
};

TAILQ_HEAD(req_list, req);
LIST_HEAD(req_waits, req_wait_entry);

void req_begin(struct front *f, struct http_req *rq); /* finds the route, reads the body, calls the handler */
struct req *req_ref(struct req *r);
void req_unref(struct req *r);
void req_end_slow(struct front *f); /* once a second: ends those whose body takes too long */

/* The body as an object, a new reference. If it is no object, sends 400 and returns NULL. */
json_t *req_json(struct req *r, bool allow_empty);

/* The sandbox id in the path, without the suffix of old clients. If it is malformed, sends 400 and returns
 * -EINVAL. */
int req_sandbox_id(struct req *r, struct str *ret);

/* Whether the sandbox in the path exists and belongs to the caller. To be called after req_sandbox_id(). */
bool req_owns_sandbox(const struct req *r);

/* The caller's own sandbox in the path, borrowed. Otherwise sends 400 or 404 and returns NULL. */
struct sandbox *req_sandbox(struct req *r);

/* Calls `then` when the state of sb has settled. */
void req_wait(struct req *r, struct sandbox *sb, void (*then)(struct req *r, struct sandbox *sb));
/* Calls the handler then, as if the request had just arrived. */
void req_again(struct req *r, struct sandbox *sb, void (*handler)(struct req *r));

/* Once a second: answers requests that wait for a silent warden. They may still take effect. */
void req_waiting_tick(struct front *f);
