/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/events: lists the events of sandboxes, in the format of E2B. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/record/events.h"
#include "http/server.h"
#include "http/url.h"
#include "store/events.h"

#define EVENTS_DEFAULT 10
#define EVENTS_MAX 100
#define OFFSET_MAX 1000000000ull
#define TYPES_MAX 1024

static int read_number(struct req *r, const char *name, uint64_t min, uint64_t max, uint64_t *ret)
{
	autofree char *text = NULL;
	int got = query_get(r->http->query, name, &text);

	if (got == -ENOENT)
		return 0;
	if (got == 0 && str_to_u64(str_of(text), max, ret) == 0 && *ret >= min)
		return 0;
	reply_error(r, 400, "query parameter '%s' must be an integer from %llu to %llu", name, (unsigned long long)min,
	    (unsigned long long)max);
	return -EINVAL;
}

static int read_order(struct req *r, bool *ret)
{
	autofree char *text = NULL;
	int got = query_get(r->http->query, "orderAsc", &text);

	if (got == -ENOENT)
		return 0;
	*ret = got == 0 && strcmp(text, "true") == 0;
	if (*ret || (got == 0 && strcmp(text, "false") == 0))
		return 0;
	reply_error(r, 400, "query parameter 'orderAsc' must be true or false");
	return -EINVAL;
}

/* Converts types=a&types=b, or types=a,b, to ",a,b,". */
static int read_types(struct req *r, struct buf *out)
{
	struct str query = r->http->query, name, value;

	while (query_next(&query, &name, &value)) {
		autobuf struct buf text = BUF_INIT(TYPES_MAX);

		if (!str_is(name, "types"))
			continue;
		struct str rest = url_decode(value, true, &text) == 0 ? buf_view(&text) : STR_LIT("?");

		while (rest.p) {
			struct str one = str_cut(&rest, ',');

			if (event_type_find(one) < 0 || out->bad) {
				reply_error(r, 400, "query parameter 'types': '%.*s' is not a type of events",
				    one.n > 60 ? 60 : (int)one.n, one.p);
				return -EINVAL;
			}
			buf_fmt(out, "%s%.*s,", out->n ? "" : ",", STR_ARG(one));
		}
	}
	return 0;
}

static void on_event(void *user, const struct event_row *row)
{
	(void)json_array_append_new(user, event_json(row));
}

static void list(struct req *r, const char *sandbox)
{
	struct event_query q = { .team = r->caller.team, .sandbox = sandbox, .limit = EVENTS_DEFAULT };
	autobuf struct buf types = BUF_INIT(TYPES_MAX);
	struct err e;

	if (read_number(r, "offset", 0, OFFSET_MAX, &q.offset) < 0 ||
	    read_number(r, "limit", 1, EVENTS_MAX, &q.limit) < 0 || read_order(r, &q.ascending) < 0 ||
	    read_types(r, &types) < 0)
		return;
	q.types = types.n ? buf_cstr(&types) : NULL;
	json_t *all = json_array();

	if (events_each(r->api->link->store, &q, on_event, all, &e) < 0) {
		json_decref(all);
		reply_err(r, &e);
		return;
	}
	reply_json(r, 200, all, NULL);
}

void api_events(struct req *r)
{
	list(r, NULL);
}

/* Also for a sandbox that has ended. For one of another team the list is empty. */
void api_events_of(struct req *r)
{
	struct str id;
	char z[ID_SIZE];

	if (req_sandbox_id(r, &id) == 0 && str_copy(z, sizeof z, id))
		list(r, z);
}
