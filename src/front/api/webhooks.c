/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/webhooks: the webhooks of a team, as on E2B, and the results of their deliveries. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/inet.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/record/records.h"
#include "front/record/webhooks.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"
#include "ipc/webhooks.h"
#include "store/webhooks.h"

#define NO_STORE "Cache-Control: no-store\r\n"
#define NAME_MAX_BYTES 128
#define DELIVERIES_DEFAULT 20
#define DELIVERIES_MAX 100

/* Many services put a token into the path or the query of the URL that they give. */
static json_t *url_json(const struct req *r, const char *url)
{
	const char *host = strstr(url, "://");
	size_t n = host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
	const char *at = host ? memrchr(host + 3, '@', url + n - host - 3) : NULL;

	return req_sees_tokens(r) ? json_string(url)
	    : at ? json_sprintf("%.*s%.*s", (int)(host + 3 - url), url, (int)(url + n - at - 1), at + 1)
		 : json_stringn(url, n);
}

static json_t *webhook_json(const struct req *r, const struct webhook *w)
{
	json_t *events = json_array();

	for (int t = 0; t < EVENT_TYPES; t++) {
		if (w->events & 1u << t)
			(void)json_array_append_new(events, json_string(event_type_name((enum event_type)t)));
	}
	return json_pack("{s:s,s:s,s:s,s:o,s:b,s:o,s:o,s:I}", "id", w->id, "teamId", w->team, "name", w->name,
	    "createdAt", time_json(w->created_ms), "enabled", w->enabled, "url", url_json(r, w->url), "events", events,
	    "waiting", (json_int_t)w->waiting);
}

/* --- parsing --- */

static int check_name(const char *name, struct err *e)
{
	size_t n = strlen(name);

	for (const char *z = name; *z; z++) {
		if ((unsigned char)*z < ' ' || *z == 127)
			n = 0;
	}
	return n > 0 && n <= NAME_MAX_BYTES
	    ? 0
	    : err_set(e, EINVAL, "field 'name' must have 1 to %d bytes without control characters", NAME_MAX_BYTES);
}

/* The address of a name is checked at delivery. A literal address can be refused at once. */
static bool is_closed_address(const struct api *a, const char *host)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	const struct sockaddr *sa = inet_pton(AF_INET, host, &v4.sin_addr) == 1 ? (struct sockaddr *)&v4
	    : inet_pton(AF_INET6, host, &v6.sin6_addr) == 1                     ? (struct sockaddr *)&v6
										: NULL;

	return sa && (a->link->opt.webhook_allow_private ? inet_addr_never_open(sa) : inet_addr_is_private(sa));
}

static int check_url(const struct api *a, const char *url, struct err *e)
{
	struct err why = ERR_INIT;
	struct webhook_url u;

	if (webhook_url_parse(str_of(url), &u, &why) < 0)
		return err_set(e, EINVAL, "field 'url' %s", why.text);
	if (is_closed_address(a, u.host))
		return err_set(e, EINVAL, "field 'url' must not lead to a private address%s",
		    a->link->opt.webhook_allow_private ? " of this kind"
						       : "; the operator can allow that (webhook_allow_private)");
	return 0;
}

static int check_secret(const char *secret, struct err *e)
{
	size_t n = strlen(secret);

	return n > 0 && n <= WEBHOOK_SECRET_MAX
	    ? 0
	    : err_set(e, EINVAL, "field 'signatureSecret' must have 1 to %d bytes", WEBHOOK_SECRET_MAX);
}

static int read_events(const json_t *body, uint32_t *ret, struct err *e)
{
	json_t *list = NULL;
	uint32_t all = 0;

	if (json_get_arr(body, "events", &list, e) < 0)
		return -e->no;
	if (!list)
		return 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		int t = name ? event_type_find(str_of(name)) : -1;

		if (t < 0 || t == EVENT_TEST)
			return err_set(e, EINVAL,
			    "field 'events[%zu]' must be a type of events, as 'sandbox.lifecycle.created'", i);
		all |= 1u << t;
	}
	*ret = all;
	return all ? 0 : err_set(e, EINVAL, "field 'events' must name at least one type of events");
}

struct wish {
	const char *name, *url, *secret; /* NULL: not given */
	bool enabled;
	uint32_t events;
};

static int read_wish(const struct api *a, const json_t *body, struct wish *w, struct err *e)
{
	if (json_get_str(body, "name", &w->name, e) < 0 || json_get_str(body, "url", &w->url, e) < 0 ||
	    json_get_str(body, "signatureSecret", &w->secret, e) < 0 ||
	    json_get_bool(body, "enabled", &w->enabled, e) < 0 || read_events(body, &w->events, e) < 0)
		return -e->no;
	if ((w->name && check_name(w->name, e) < 0) || (w->url && check_url(a, w->url, e) < 0) ||
	    (w->secret && check_secret(w->secret, e) < 0))
		return -e->no;
	return 0;
}

static void fail(struct req *r, const struct err *e)
{
	log_error("webhooks: cannot use the state database", "request=%s err=%s", r->id, e->text);
	reply_error(r, 500, "could not use the state file");
}

/* --- calls --- */

void api_webhooks(struct req *r)
{
	struct webhooks *h = r->api->record->webhooks;
	json_t *all = json_array();

	for (const struct webhook *w = webhook_next(h, r->caller.team, NULL); w; w = webhook_next(h, r->caller.team, w))
		(void)json_array_append_new(all, webhook_json(r, w));
	reply_json(r, 200, all, NO_STORE);
}

void api_webhook_add(struct req *r)
{
	struct api *a = r->api;
	autojson json_t *body = req_json(r, false);
	struct wish want = { .enabled = true };
	char made[49];
	struct err e = ERR_INIT;

	if (!body)
		return;
	if (read_wish(a, body, &want, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (!want.name || !want.url || !want.events) {
		reply_error(r, 400, "field '%s' is required", !want.name ? "name" : !want.url ? "url" : "events");
		return;
	}
	if (webhook_count(a->record->webhooks, r->caller.team) >= WEBHOOKS_PER_TEAM) {
		reply_error(r, 409, "the team has %d webhooks, which is as many as there may be", WEBHOOKS_PER_TEAM);
		return;
	}
	struct webhook *w = must_alloc(sizeof *w);

	uuid_make(w->id);
	(void)str_copy(w->team, sizeof w->team, str_of(r->caller.team));
	w->name = must_dup(want.name);
	w->url = must_dup(want.url);
	w->enabled = want.enabled;
	w->events = want.events;
	w->created_ms = clock_wall_ms();
	if (!want.secret)
		rand_hex(made, sizeof made - 1);
	if (webhook_add(a->record->webhooks, w, want.secret ? want.secret : made, &e) < 0) {
		webhook_free(w);
		fail(r, &e);
		return;
	}
	log_info("webhook created", "request=%s webhook=%s team=%s", r->id, w->id, w->team);
	json_t *answer = webhook_json(r, w);

	if (!want.secret) /* shown only this once */
		(void)json_object_set_new(answer, "signatureSecret", json_string(made));
	explicit_bzero(made, sizeof made);
	reply_json(r, 201, answer, NO_STORE);
}

/* The webhook in the path. If there is none, sends an answer and returns NULL. */
static struct webhook *find(struct req *r)
{
	struct webhook *w = webhook_find(r->api->record->webhooks, r->caller.team, r->param);

	if (!w)
		reply_error(r, 404, "webhook '%.60s' not found", r->param);
	return w;
}

void api_webhook(struct req *r)
{
	const struct webhook *w = find(r);

	if (w)
		reply_json(r, 200, webhook_json(r, w), NO_STORE);
}

void api_webhook_set(struct req *r)
{
	struct webhook *w = find(r);
	autojson json_t *body = w ? req_json(r, false) : NULL;
	struct wish want = { .enabled = w && w->enabled };
	struct err e = ERR_INIT;

	if (!body)
		return;
	if (read_wish(r->api, body, &want, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (want.name) {
		free(w->name);
		w->name = must_dup(want.name);
	}
	if (want.url) {
		free(w->url);
		w->url = must_dup(want.url);
	}
	w->enabled = want.enabled;
	w->events = want.events ? want.events : w->events;
	if (webhook_set(r->api->record->webhooks, w, want.secret, &e) < 0) {
		fail(r, &e);
		return;
	}
	log_info("webhook changed", "request=%s webhook=%s", r->id, w->id);
	reply_json(r, 200, webhook_json(r, w), NO_STORE);
}

void api_webhook_drop(struct req *r)
{
	struct webhook *w = find(r);
	struct err e = ERR_INIT;

	if (!w)
		return;
	log_info("webhook removed", "request=%s webhook=%s", r->id, w->id);
	if (webhook_drop(r->api->record->webhooks, w, &e) < 0)
		fail(r, &e);
	else
		reply_json(r, 200, json_pack("{s:s}", "id", r->param), NULL);
}

void api_webhook_test(struct req *r)
{
	struct webhook *w = find(r);
	char id[TEAM_ID_SIZE];
	uint64_t seq;

	if (!w)
		return;
	if (!w->enabled) {
		reply_error(r, 409, "webhook '%s' is not enabled", w->id);
		return;
	}
	int no = event_note_test(r->api->record, r->caller.team, &seq);

	if (no == 0)
		no = webhooks_push_one(r->api->record->webhooks, w, seq, id);
	if (no == -EDQUOT)
		reply_error(r, 409, "too many deliveries wait for webhook '%s'", w->id);
	else if (no < 0)
		reply_error(r, 500, "could not use the state file");
	else
		reply_json(r, 202, json_pack("{s:s}", "deliveryId", id), NULL);
}

/* --- deliveries --- */

static void on_delivery(void *user, const struct delivery_row *d)
{
	static const char *const
	    states[] = { [DELIVERY_WAITING] = "waiting", [DELIVERY_DONE] = "delivered", [DELIVERY_FAILED] = "failed" };
	json_t *o = json_pack("{s:s,s:s,s:s?,s:s?,s:s?,s:s,s:I,s:o,s:o}", "id", d->id, "webhookId", d->webhook,
	    "eventId", d->event.id, "eventType", d->event.type, "sandboxId", d->event.sandbox, "state",
	    d->state <= DELIVERY_FAILED ? states[d->state] : "failed", "attempts", (json_int_t)d->attempts, "createdAt",
	    time_json(d->created_ms), "lastAttemptAt", time_or_null(d->last_ms));
	bool tried = d->last_ms != 0;

	(void)json_object_set_new(o, "outcome", tried ? json_string(hk_outcome_name(d->outcome)) : json_null());
	(void)json_object_set_new(o, "statusCode", d->status ? json_integer(d->status) : json_null());
	(void)json_object_set_new(o, "durationMs", tried ? json_integer(d->took_ms) : json_null());
	(void)json_object_set_new(o, "error", d->error && *d->error ? json_string(d->error) : json_null());
	(void)json_array_append_new(user, o);
}

void api_webhook_deliveries(struct req *r)
{
	const struct webhook *w = find(r);
	autofree char *text = NULL;
	uint64_t limit = DELIVERIES_DEFAULT;
	struct err e;

	if (!w)
		return;
	int got = query_get(r->http->query, "limit", &text);

	if (got != -ENOENT && (got < 0 || str_to_u64(str_of(text), DELIVERIES_MAX, &limit) < 0 || limit == 0)) {
		reply_error(r, 400, "query parameter 'limit' must be an integer from 1 to %d", DELIVERIES_MAX);
		return;
	}
	json_t *all = json_array();

	if (deliveries_each(r->api->link->store, w->id, limit, on_delivery, all, &e) < 0) {
		json_decref(all);
		fail(r, &e);
		return;
	}
	reply_json(r, 200, all, NO_STORE);
}
