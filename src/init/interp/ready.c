/* SPDX-License-Identifier: Apache-2.0 */
/* interp_ready: GET /atoll/ready: answered when no context is starting and contexts that were never used have done
 * in advance what their first cell would have to do. */
#include <stdlib.h>

#include "http/server.h"
#include "init/init.h"
#include "init/interp/context.h"
#include "init/interp/interp.h"
#include "init/reply.h"

struct asker {
	struct asker *next;
	struct init *in;
	struct http_req *rq;
};

static void answer(struct http_req *rq)
{
	http_respond(rq, 204, NULL, "Cache-Control: no-store\r\n", STR_NULL);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct asker *a = rq->user, **at = &a->in->interp.askers;

	(void)lost;
	while (*at && *at != a)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
	free(a);
}

static const struct http_req_ops ops = { .on_close = on_close };

void interp_ready(struct init *in, struct http_req *rq)
{
	struct asker *a = calloc(1, sizeof(*a));

	if (!a) {
		answer(rq); /* out of memory: the client's next request will show it */
		return;
	}
	*a = (struct asker) { .next = in->interp.askers, .in = in, .rq = rq };
	in->interp.askers = a;
	rq->user = a;
	rq->ops = &ops;
	contexts_rehearse(in);
	interp_settled(in);
}

void interp_settled(struct init *in)
{
	if (contexts_starting(in))
		return;
	while (in->interp.askers) {
		struct asker *a = in->interp.askers;

		in->interp.askers = a->next;
		answer(a->rq); /* on_close() frees it */
	}
}
