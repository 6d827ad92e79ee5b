/* SPDX-License-Identifier: Apache-2.0 */
/* client/capacity: current load and capacity of the server's machine. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill_peak(struct atoll_capacity_peak *p, const json_t *o)
{
	*p = (struct atoll_capacity_peak) {
		.from = json_text(o, "from"),
		.sandboxes = json_number(o, "sandboxes", 0),
		.memory_bytes = json_number(o, "memoryBytes", 0),
		.limit_bytes = json_number(o, "limitBytes", 0),
		.starts = json_number(o, "starts", 0),
		.pool_hits = json_number(o, "poolHits", 0),
		.pool_misses = json_number(o, "poolMisses", 0),
		.cpu_cores = json_number_value(json_object_get(o, "cpuCores")),
	};
}

static void fill(struct kept *k, void *item, json_t *o)
{
	struct atoll_capacity_now *c = item;
	const json_t *now = json_object_get(o, "now"), *fits = json_object_get(o, "fits"),
		     *peaks = json_object_get(o, "peaks");
	const json_t *boxes = json_object_get(now, "sandboxes"), *mem = json_object_get(now, "memory"),
		     *cpu = json_object_get(now, "cpu");
	size_t n = json_array_size(peaks);
	struct atoll_capacity_peak *v = calloc(n + 1, sizeof *v);

	*c = (struct atoll_capacity_now) {
		.running = json_number(boxes, "running", 0),
		.paused = json_number(boxes, "paused", 0),
		.max = json_number(boxes, "max", 0),
		.memory_bytes = json_number(mem, "usedBytes", 0),
		.memory_left_bytes = json_number(mem, "leftBytes", 0),
		.cpu_cores = json_number_value(json_object_get(cpu, "usedCores")),
		.cores = json_number(cpu, "cores", 0),
		.pool_hits = json_number(json_object_get(now, "pool"), "hits", 0),
		.pool_misses = json_number(json_object_get(now, "pool"), "misses", 0),
		.more = json_number(fits, "more", 0),
		.bound = json_text(fits, "bound"),
		.more_at_full_use = json_number(fits, "moreAtFullUse", 0),
		.bound_at_full_use = json_text(fits, "boundAtFullUse"),
	};
	for (size_t i = 0; v && i < n; i++)
		fill_peak(&v[i], json_array_get(peaks, i));
	k->more = v;
	c->peaks = v;
	c->n_peaks = v ? n : 0;
}

int atoll_capacity(struct atoll *a, bool by_hour, unsigned days, struct atoll_capacity **ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autofree char *path = days ? str_fmt("/admin/capacity?by=%s&days=%u", by_hour ? "hour" : "day", days)
				   : str_fmt("/admin/capacity?by=%s", by_hour ? "hour" : "day");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	struct kept *k;
	json_t *root;

	if (!path)
		return client_no_memory(e);
	if (api_call(a, &c, e) < 0 || call_json(&c, JSON_OBJECT, &root, e) < 0 ||
	    kept_new(root, sizeof(struct atoll_capacity_now), fill, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->capacity;
	return 0;
}

void atoll_capacity_free(struct atoll_capacity *c)
{
	kept_free((struct kept *)c);
}
