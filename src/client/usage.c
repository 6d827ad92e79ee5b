/* SPDX-License-Identifier: Apache-2.0 */
/* client/usage: running time of sandboxes by key, template, day or label. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"

static double real(const json_t *o, const char *field)
{
	return json_number_value(json_object_get(o, field));
}

static void fill_row(struct kept *k, void *item, json_t *o)
{
	struct atoll_usage_row *u = item;

	*u = (struct atoll_usage_row) {
		.key_name = json_text_or_null(o, "keyName"),
		.sandboxes = json_number(o, "sandboxes", 0),
		.seconds = real(o, "seconds"),
		.vcpu_seconds = real(o, "vcpuSeconds"),
		.gib_seconds = real(o, "gibSeconds"),
		.egress_bytes = json_number(o, "egressBytes", 0),
		.cost = json_object_get(o, "cost") ? real(o, "cost") : -1,
	};
	u->by = kept_pairs(k, json_object_get(o, "by"), &u->n_by);
}

static void put_parameter(struct buf *path, const char *name, const char *value)
{
	if (!value)
		return;
	buf_fmt(path, "%c%s=", memchr(path->p, '?', path->n) ? '&' : '?', name);
	url_encode(path, str_of(value));
}

int atoll_usage(struct atoll *a, const struct atoll_usage_query *q, struct atoll_usage **ret, struct atoll_error *e)
{
	NEED(e, a && q && ret);
	struct atoll_usage_query own;

	if (TAKE_IN(&own, q, e) < 0)
		return -e->no;
	q = &own;
	autobuf struct buf path = BUF_INIT(16 * 1024);
	autojson json_t *answer = NULL;
	struct kept *k;

	buf_z(&path, q->all_teams ? "/admin/usage" : "/usage");
	put_parameter(&path, "by", q->by);
	put_parameter(&path, "from", q->from);
	put_parameter(&path, "to", q->to);

	autocall struct call c = CALL_INIT("GET", a->api_url, buf_cstr(&path));

	if (api_call(a, &c, e) < 0 || call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	json_t *rows = json_object_get(answer, "rows");
	if (kept_new(json_is_array(rows) ? json_incref(rows) : json_array(), sizeof(struct atoll_usage_row), fill_row,
		"by", &k, e) < 0)
		return -e->no;
	*ret = &k->usage;
	return 0;
}

void atoll_usage_free(struct atoll_usage *u)
{
	kept_free((struct kept *)u);
}
