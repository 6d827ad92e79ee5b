/* SPDX-License-Identifier: Apache-2.0 */
/* client/webhooks: manages the webhooks of a team and lists their deliveries. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define WHERE "/events/webhooks"

static void fill_webhook(struct kept *k, void *item, json_t *o)
{
	struct atoll_webhook *w = item;

	(void)k;
	*w = (struct atoll_webhook) {
		.id = json_text(o, "id"),
		.name = json_text(o, "name"),
		.url = json_text(o, "url"),
		.created_at = json_text(o, "createdAt"),
		.enabled = json_is_true(json_object_get(o, "enabled")),
		.waiting = json_number(o, "waiting", 0),
		.secret = json_text_or_null(o, "signatureSecret"),
	};
}

static int webhooks_of(json_t *root, struct atoll_webhooks **ret, struct atoll_error *e)
{
	struct kept *k;

	if (kept_new(root, sizeof(struct atoll_webhook), fill_webhook, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->webhooks;
	return 0;
}

static int about(struct atoll_error *e, const char *id)
{
	return e->status == 404 ? client_fail(e, ENOENT, 404, "there is no webhook '%s'", id) : -e->no;
}

int atoll_webhooks_list(struct atoll *a, struct atoll_webhooks **ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT("GET", a->api_url, WHERE);
	json_t *root;

	if (api_call(a, &c, e) < 0 || call_json(&c, JSON_ARRAY, &root, e) < 0)
		return -e->no;
	return webhooks_of(root, ret, e);
}

int atoll_webhook_add(struct atoll *a, const char *name, const char *url, const char *const *events, size_t n_events,
    const char *secret, struct atoll_webhooks **ret, struct atoll_error *e)
{
	NEED(e, a && name && url && ret && (events || n_events == 0));
	autocall struct call c = CALL_INIT("POST", a->api_url, WHERE);
	json_t *list = json_array(), *root;
	autojson json_t *body = json_pack("{s:s,s:s,s:o}", "name", name, "url", url, "events", list);

	for (size_t i = 0; body && i < n_events; i++)
		(void)json_array_append_new(list, json_string(events[i]));
	if (!body || (secret && json_object_set_new(body, "signatureSecret", json_string(secret)) < 0))
		return client_fail(e, EINVAL, 0, "the name, the URL or the secret is not valid UTF-8");
	if (api_send(a, &c, body, e) < 0)
		return -e->no;
	int rc = call_json(&c, JSON_OBJECT, &root, e);

	if (c.answer.p)
		explicit_bzero(c.answer.p, c.answer.n);
	return rc < 0 ? rc : webhooks_of(root, ret, e);
}

int atoll_webhook_remove(struct atoll *a, const char *id, struct atoll_error *e)
{
	NEED(e, a && id);
	autofree char *path = api_path(WHERE "/", id, "");
	autocall struct call c = CALL_INIT("DELETE", a->api_url, path);

	if (!path)
		return client_fail(e, EINVAL, 0, "the id of the webhook is empty");
	return api_call(a, &c, e) < 0 ? about(e, id) : 0;
}

int atoll_webhook_test(struct atoll *a, const char *id, struct atoll_error *e)
{
	NEED(e, a && id);
	autofree char *path = api_path(WHERE "/", id, "/test");
	autocall struct call c = CALL_INIT("POST", a->api_url, path);
	autojson json_t *body = json_object();

	if (!path)
		return client_fail(e, EINVAL, 0, "the id of the webhook is empty");
	return api_send(a, &c, body, e) < 0 ? about(e, id) : 0;
}

static void fill_delivery(struct kept *k, void *item, json_t *o)
{
	struct atoll_delivery *d = item;

	(void)k;
	*d = (struct atoll_delivery) {
		.id = json_text(o, "id"),
		.event_id = json_text(o, "eventId"),
		.event_type = json_text(o, "eventType"),
		.sandbox = json_text(o, "sandboxId"),
		.state = json_text(o, "state"),
		.created_at = json_text(o, "createdAt"),
		.last_attempt_at = json_text_or_null(o, "lastAttemptAt"),
		.outcome = json_text_or_null(o, "outcome"),
		.error = json_text_or_null(o, "error"),
		.attempts = (unsigned)json_number(o, "attempts", 0),
		.status = (int)json_number(o, "statusCode", 0),
		.duration_ms = json_number(o, "durationMs", 0),
	};
}

int atoll_webhook_deliveries(struct atoll *a, const char *id, unsigned limit, struct atoll_deliveries **ret,
    struct atoll_error *e)
{
	NEED(e, a && id && ret);
	autofree char *tail = limit ? str_fmt("/deliveries?limit=%u", limit) : str_dup(STR_LIT("/deliveries"));
	autofree char *path = tail ? api_path(WHERE "/", id, tail) : NULL;
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	struct kept *k;
	json_t *root;

	if (!path)
		return client_fail(e, EINVAL, 0, "the id of the webhook is empty");
	if (api_call(a, &c, e) < 0)
		return about(e, id);
	if (call_json(&c, JSON_ARRAY, &root, e) < 0 ||
	    kept_new(root, sizeof(struct atoll_delivery), fill_delivery, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->deliveries;
	return 0;
}

void atoll_webhooks_free(struct atoll_webhooks *w)
{
	kept_free((struct kept *)w);
}

void atoll_deliveries_free(struct atoll_deliveries *d)
{
	kept_free((struct kept *)d);
}
