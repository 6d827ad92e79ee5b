/* SPDX-License-Identifier: Apache-2.0 */
/* client/metrics: resource usage of sandboxes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"

#define IDS_PER_CALL 100

static uint64_t bytes_of(const json_t *o, const char *field)
{
	int64_t n = json_number(o, field, 0);

	return n > 0 ? (uint64_t)n : 0;
}

static void fill_point(struct kept *k, void *item, json_t *o)
{
	struct atoll_point *p = item;
	unsigned cpus = (unsigned)json_number(o, "cpuCount", 0);

	(void)k;
	*p = (struct atoll_point) {
		.id = json_text(o, "sandboxID"),
		.at = json_text(o, "timestamp"),
		.at_s = json_number(o, "timestampUnix", 0),
		.cpu_pct = json_number_value(json_object_get(o, "cpuUsedPct")) * (cpus ? cpus : 1),
		.cpu_count = cpus,
		.mem_used = bytes_of(o, "memUsed"),
		.mem_total = bytes_of(o, "memTotal"),
		.mem_cache = bytes_of(o, "memCache"),
		.disk_used = bytes_of(o, "diskUsed"),
		.disk_total = bytes_of(o, "diskTotal"),
		.pids = (unsigned)json_number(o, "processCount", 0),
	};
}

static int points_of(json_t *root, struct atoll_points **ret, struct atoll_error *e)
{
	struct kept *k;

	if (kept_new(root, sizeof(struct atoll_point), fill_point, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->points;
	return 0;
}

/* Adds the sandbox's id to each point, so that one array can hold points of several sandboxes. */
static int name_points(json_t *list, const char *id)
{
	size_t i;
	json_t *o;

	json_array_foreach(list, i, o)
	{
		if (json_is_object(o) && json_object_set_new(o, "sandboxID", json_string(id)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int atoll_metrics(struct atoll *a, const char *id, int64_t from_s, int64_t to_s, struct atoll_points **ret,
    struct atoll_error *e)
{
	NEED(e, a && id && ret);
	char query[96] = "/metrics";
	int n = (int)str_of(query).n;

	if (from_s > 0)
		n += snprintf(query + n, sizeof(query) - (size_t)n, "?start=%lld", (long long)from_s);
	if (to_s > 0)
		(void)snprintf(query + n, sizeof(query) - (size_t)n, "%cend=%lld", from_s > 0 ? '&' : '?',
		    (long long)to_s);

	autofree char *path = api_path("/sandboxes/", id, query);
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	autojson json_t *list = NULL;

	if (api_call(a, &c, e) < 0)
		return api_no_sandbox(e, id);
	if (call_json(&c, JSON_ARRAY, &list, e) < 0)
		return -e->no;
	if (name_points(list, id) < 0)
		return client_no_memory(e);
	return points_of(json_incref(list), ret, e);
}

/* Adds the points of a response, {id: point, ...}, to the array. */
static int collect(json_t *all, json_t *by_id)
{
	const char *id;
	json_t *o;

	json_object_foreach(by_id, id, o)
	{
		if (!json_is_object(o))
			continue;
		if (json_object_set_new(o, "sandboxID", json_string(id)) < 0 || json_array_append(all, o) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int fetch_latest(struct atoll *a, const char *const *ids, size_t n, json_t *all, struct atoll_error *e)
{
	autobuf struct buf path = BUF_INIT(64 * 1024);
	autojson json_t *answer = NULL;

	buf_z(&path, "/sandboxes/metrics?sandbox_ids=");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_ch(&path, ',');
		url_encode(&path, str_of(ids[i]));
	}
	autocall struct call c = CALL_INIT("GET", a->api_url, buf_cstr(&path));
	if (api_call(a, &c, e) < 0 || call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	return collect(all, json_object_get(answer, "sandboxes")) < 0 ? client_no_memory(e) : 0;
}

int atoll_metrics_latest(struct atoll *a, const char *const *ids, size_t n, struct atoll_points **ret,
    struct atoll_error *e)
{
	NEED(e, a && ret && (ids || n == 0));
	autojson json_t *all = json_array();

	if (!all)
		return client_no_memory(e);
	for (size_t i = 0; i < n; i += IDS_PER_CALL) {
		if (fetch_latest(a, ids + i, n - i < IDS_PER_CALL ? n - i : IDS_PER_CALL, all, e) < 0)
			return -e->no;
	}
	return points_of(json_incref(all), ret, e);
}

void atoll_points_free(struct atoll_points *p)
{
	kept_free((struct kept *)p);
}
