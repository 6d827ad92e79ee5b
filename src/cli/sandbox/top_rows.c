/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/top_rows: the rows of `atoll top`, sorted. */
#include "cli/sandbox/top_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/format.h"

#define POINT_OLD_S 30 /* servers measure every five seconds */

const struct column top_columns[10] = {
	{ "ID", false },
	{ "TEMPLATE", false },
	{ "STATE", false },
	{ "CPU%", true },
	{ "MEMORY", true },
	{ "DISK", true },
	{ "PIDS", true },
	{ "IDLE", true },
	{ "ENDS IN", true },
	{ "METADATA", false },
};

int top_sort_parse(const char *name, enum top_sort *ret)
{
	static const char *const names[] = { [TOP_CPU] = "cpu",
		[TOP_MEMORY] = "memory",
		[TOP_DISK] = "disk",
		[TOP_PIDS] = "pids",
		[TOP_IDLE] = "idle" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = (enum top_sort)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Returns the sort key; the largest comes first, unknown values last. */
static double weight(const struct top_row *r, enum top_sort by)
{
	switch (by) {
	case TOP_CPU:
		return r->point ? r->point->cpu_pct : -1;
	case TOP_MEMORY:
		return r->point ? (double)r->point->mem_used : -1;
	case TOP_DISK:
		return r->point ? (double)r->point->disk_used : -1;
	case TOP_PIDS:
		return r->point ? (double)r->point->pids : -1;
	case TOP_IDLE:
		return (double)r->idle_s;
	}
	return 0;
}

static int compare(const void *a, const void *b, void *user)
{
	enum top_sort by = *(enum top_sort *)user;
	double x = weight(a, by), y = weight(b, by);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(((const struct top_row *)a)->info->id, ((const struct top_row *)b)->info->id);
}

static int by_id(const void *a, const void *b)
{
	return strcmp((*(const struct atoll_point *const *)a)->id, (*(const struct atoll_point *const *)b)->id);
}

/* Indexes the points by id, so that a thousand sandboxes do not need a million comparisons. */
static const struct atoll_point **index_points(const struct atoll_points *p)
{
	const struct atoll_point **v = calloc(p->n + 1, sizeof(*v));

	for (size_t i = 0; v && i < p->n; i++)
		v[i] = &p->v[i];
	if (v)
		qsort(v, p->n, sizeof(*v), by_id);
	return v;
}

static const struct atoll_point *find_point(const struct atoll_point **v, size_t n, const char *id, uint64_t now_ms)
{
	const struct atoll_point like = { .id = id }, *key = &like;
	const struct atoll_point **at = bsearch(&key, v, n, sizeof(*v), by_id);

	return at && (*at)->at_s + POINT_OLD_S >= (int64_t)(now_ms / 1000) ? *at : NULL;
}

int top_rows_make(const struct atoll_list *l, const struct atoll_points *p, uint64_t now_ms, enum top_sort by,
    struct top_rows *ret)
{
	struct top_rows r = { .v = calloc(l->n + 1, sizeof(*r.v)), .n = l->n };
	autofree const struct atoll_point **points = index_points(p);

	if (!r.v || !points) {
		free(r.v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_info *info = &l->v[i];
		bool paused = strcmp(info->state, "paused") == 0;
		struct top_row *row = &r.v[i];

		*row = (struct top_row) {
			.info = info,
			.point = paused ? NULL : find_point(points, p->n, info->id, now_ms),
			.idle_s = span_s(info->last_activity_at, now_ms, false),
			.left_s = paused ? -1 : span_s(info->end_at, now_ms, true),
		};
		r.running += !paused;
		if (row->point) {
			r.cpu_pct += row->point->cpu_pct;
			r.mem_used += row->point->mem_used;
			r.disk_used += row->point->disk_used;
			r.pids += row->point->pids;
		}
	}
	qsort_r(r.v, r.n, sizeof(*r.v), compare, &by);
	*ret = r;
	return 0;
}

void top_rows_done(struct top_rows *r)
{
	free(r->v);
	r->v = NULL;
}

/* "37M/512M" */
static void add_share(struct table *t, uint64_t used, uint64_t total)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE];

	size_format(used, a);
	size_format(total, b);
	table_addf(t, "%s/%s", a, b);
}

static void add_span(struct table *t, int64_t s)
{
	char text[FORMAT_SIZE] = "-";

	if (s >= 0)
		duration_format((uint64_t)s, text);
	table_add(t, text);
}

void top_rows_table(const struct top_rows *r, struct table *t)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct top_row *x = &r->v[i];
		autobuf struct buf meta = BUF_INIT(64 * 1024);

		table_add(t, x->info->id);
		table_add(t, x->info->alias ? x->info->alias : x->info->template_id);
		table_add(t, x->info->state);
		if (x->point) {
			table_addf(t, "%.1f", x->point->cpu_pct);
			add_share(t, x->point->mem_used, x->point->mem_total);
			add_share(t, x->point->disk_used, x->point->disk_total);
			table_addf(t, "%u", x->point->pids);
		} else {
			for (int k = 0; k < 4; k++)
				table_add(t, "-");
		}
		add_span(t, x->idle_s);
		add_span(t, x->left_s);
		for (size_t k = 0; k < x->info->n_metadata; k++)
			buf_fmt(&meta, "%s%s=%s", k ? "," : "", x->info->metadata[k].name, x->info->metadata[k].value);
		table_add(t, buf_cstr(&meta));
	}
}

void top_rows_title(const struct top_rows *r, struct buf *out)
{
	char mem[FORMAT_SIZE], disk[FORMAT_SIZE];

	size_format(r->mem_used, mem);
	size_format(r->disk_used, disk);
	buf_fmt(out, "%zu running, %zu paused, cpu %.1f%%, memory %s, disk %s, pids %" PRIu64, r->running,
	    r->n - r->running, r->cpu_pct, mem, disk, r->pids);
}

static json_t *row_json(const struct top_row *x)
{
	json_t *meta = json_object(), *o;

	for (size_t k = 0; k < x->info->n_metadata; k++)
		(void)json_object_set_new(meta, x->info->metadata[k].name, json_string(x->info->metadata[k].value));
	o = json_pack("{s:s,s:s,s:s,s:o}", "sandboxID", x->info->id, "template",
	    x->info->alias ? x->info->alias : x->info->template_id, "state", x->info->state, "metadata", meta);
	(void)json_object_set_new(o, "idleSeconds", x->idle_s < 0 ? json_null() : json_integer(x->idle_s));
	(void)json_object_set_new(o, "endsInSeconds", x->left_s < 0 ? json_null() : json_integer(x->left_s));
	const struct atoll_point *p = x->point;
	(void)json_object_set_new(o, "cpuUsedPct", p ? json_real(p->cpu_pct) : json_null());
	(void)json_object_set_new(o, "memUsed", p ? json_integer((json_int_t)p->mem_used) : json_null());
	(void)json_object_set_new(o, "memTotal", p ? json_integer((json_int_t)p->mem_total) : json_null());
	(void)json_object_set_new(o, "diskUsed", p ? json_integer((json_int_t)p->disk_used) : json_null());
	(void)json_object_set_new(o, "diskTotal", p ? json_integer((json_int_t)p->disk_total) : json_null());
	(void)json_object_set_new(o, "processCount", p ? json_integer(p->pids) : json_null());
	return o;
}

char *top_rows_json(const struct top_rows *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->n; i++)
		(void)json_array_append_new(all, row_json(&r->v[i]));
	char *text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}
