/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/req: one request to the control API, from its head to its answer.
 *
 * It is reference-counted, because the answer may be sent long after the client has disconnected. `http` is NULL
 * then, and sending an answer does nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "front/api/auth.h"
#include "ipc/msg.h"

struct api;
struct http_req;
struct route;

struct req {
	struct api *api;
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

struct req *req_ref(struct req *r);
void req_unref(struct req *r);
