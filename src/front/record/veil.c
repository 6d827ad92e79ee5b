/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/veil: one pass over the text for all values. */
#include "front/record/veil.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/secretive.h"
#include "front/util/mem.h"
#include "http/json.h"

#define LEARNED_MAX (64 * 1024) /* bytes of all values: they are in memory until the sandbox ends */
/* number of values: each is compared with every new one and searched for in every text */
#define VALUES_MAX 64
#define TEXT_MAX (16u * 1024 * 1024) /* of one text */
#define FORMS 3                      /* verbatim, and as JSON with and without escapes for non-ASCII characters */

static bool is_known(const json_t *list, const json_t *v)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one)
	{
		if (json_equal(one, v))
			return true;
	}
	return false;
}

static void append(json_t *list, json_t *v)
{
	size_t bytes = 0, i;
	json_t *one;

	(void)json_array_append_new(list, json_copy(v));
	json_array_foreach(list, i, one) bytes += json_string_length(one);
	for (; bytes > LEARNED_MAX || json_array_size(list) > VALUES_MAX; (void)json_array_remove(list, 0))
		bytes -= json_string_length(json_array_get(list, 0));
}

void veil_learn(json_t **list, const json_t *envs)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)envs, name, v)
	{
		size_t n = json_string_length(v);

		if (!json_is_string(v) || n < SECRET_MIN || n > SECRET_MAX || !secretive_name(name) ||
		    is_known(*list, v))
			continue;
		if (!*list)
			*list = json_array();
		append(*list, v);
	}
}

struct needles {
	struct str *v;
	char **own; /* the entries of v that are allocated here */
	size_t n, n_own;
	bool first[256];
};

static void add(struct needles *ns, struct str s)
{
	if (s.n < SECRET_MIN)
		return;
	ns->v[ns->n++] = s;
	ns->first[(unsigned char)s.p[0]] = true;
}

static void add_json(struct needles *ns, const json_t *v, size_t flags)
{
	char *z = json_dumps(v, JSON_ENCODE_ANY | flags);
	struct str inside = z ? (struct str) { z + 1, strlen(z) - 2 } : STR_NULL;

	if (!z || str_is(inside, json_string_value(v))) {
		free(z);
		return;
	}
	ns->own[ns->n_own++] = z;
	add(ns, inside);
}

static size_t longest_at(const struct needles *ns, struct str rest)
{
	size_t most = 0;

	for (size_t i = 0; i < ns->n; i++) {
		if (ns->v[i].n > most && ns->v[i].n <= rest.n && memcmp(ns->v[i].p, rest.p, ns->v[i].n) == 0)
			most = ns->v[i].n;
	}
	return most;
}

/* Returns false if the text has none of the values; then out is unchanged. */
static bool put_clean(const struct needles *ns, struct str text, struct buf *out)
{
	size_t done = 0;

	for (size_t i = 0; i < text.n;) {
		size_t k = ns->first[(unsigned char)text.p[i]] ? longest_at(ns, (struct str) { text.p + i, text.n - i })
							       : 0;

		if (k) {
			buf_str(out, (struct str) { text.p + done, i - done });
			buf_z(out, REDACTED);
			done = i + k;
		}
		i += k ? k : 1;
	}
	if (done)
		buf_str(out, (struct str) { text.p + done, text.n - done });
	return done > 0;
}

/* --- in JSON: a value may also match the syntax around the texts, which must stay intact --- */

static bool is_of_event(const char *name)
{
	return strcmp(name, "type") == 0 || strcmp(name, "timestamp") == 0 || strcmp(name, "execution_count") == 0;
}

static json_t *clean_scalar(const struct needles *ns, json_t *v)
{
	autobuf struct buf out = BUF_INIT(2 * TEXT_MAX);
	autofree char *number = json_is_number(v) ? json_dumps(v, JSON_ENCODE_ANY) : NULL;
	struct str text = number ? str_of(number) : (struct str) { json_string_value(v), json_string_length(v) };

	if (!text.p || !put_clean(ns, text, &out))
		return json_incref(v);
	return out.bad ? json_string(REDACTED) : json_stringn(out.p, out.n);
}

static json_t *clean_json(const struct needles *ns, json_t *v, bool is_event)
{
	json_t *own, *one;
	const char *name;
	size_t i;

	if (!json_is_object(v) && !json_is_array(v))
		return clean_scalar(ns, v);
	own = json_is_object(v) ? json_object() : json_array();
	json_array_foreach(v, i, one)(void) json_array_append_new(own, clean_json(ns, one, false));
	json_object_foreach(v, name, one)
	{
		autobuf struct buf clean = BUF_INIT(2 * TEXT_MAX);
		const char *called = !is_event && put_clean(ns, str_of(name), &clean) && buf_cstr(&clean)
		    ? buf_cstr(&clean)
		    : name;

		(void)json_object_set_new_nocheck(own, called,
		    is_event && is_of_event(name) ? json_incref(one) : clean_json(ns, one, false));
	}
	return own;
}

static void put_clean_line(const struct needles *ns, struct str line, struct buf *out)
{
	autobuf struct buf plain = BUF_INIT(2 * TEXT_MAX);
	bool found = put_clean(ns, line, &plain);
	autojson json_t *event = found ? json_loadb(line.p, line.n, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL) : NULL;
	autojson json_t *clean = event ? clean_json(ns, event, json_is_object(event)) : NULL;
	autofree char *text = clean ? json_dumps(clean, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (text)
		buf_z(out, text);
	else if (plain.bad)
		out->bad = true;
	else
		buf_str(out, found ? buf_view(&plain) : line);
}

static bool put_clean_lines(const struct needles *ns, struct str text, struct buf *out)
{
	autobuf struct buf any = BUF_INIT(2 * TEXT_MAX);

	if (!put_clean(ns, text, &any))
		return false;
	for (struct str rest = text; rest.p;) {
		put_clean_line(ns, str_cut(&rest, '\n'), out);
		if (rest.p)
			buf_ch(out, '\n');
	}
	return true;
}

struct str veil(struct str text, const json_t *list, bool as_json, struct buf *out)
{
	size_t max = json_array_size(list) * FORMS, i;
	json_t *v;

	if (max == 0 || text.n < SECRET_MIN)
		return text;
	struct needles ns = { .v = must_alloc(max * sizeof *ns.v), .own = must_alloc(max * sizeof *ns.own) };

	json_array_foreach((json_t *)list, i, v)
	{
		add(&ns, (struct str) { json_string_value(v), json_string_length(v) });
		if (as_json) {
			add_json(&ns, v, 0);
			add_json(&ns, v, JSON_ENSURE_ASCII);
		}
	}
	bool found = as_json ? put_clean_lines(&ns, text, out) : put_clean(&ns, text, out);

	while (ns.n_own > 0)
		free(ns.own[--ns.n_own]);
	free(ns.own);
	free(ns.v);
	return found ? buf_view(out) : text;
}

/* --- of a sandbox --- */

struct veiled {
	pthread_mutex_t lock; /* for the list and its values */
	atomic_uint refs;
	json_t *list;
};

struct veiled *veiled_new(void)
{
	struct veiled *v = must_alloc(sizeof *v);

	(void)pthread_mutex_init(&v->lock, NULL);
	v->refs = 1;
	return v;
}

struct veiled *veiled_ref(struct veiled *v)
{
	v->refs++;
	return v;
}

void veiled_unref(struct veiled *v)
{
	if (!v || atomic_fetch_sub(&v->refs, 1) > 1)
		return;
	json_decref(v->list);
	(void)pthread_mutex_destroy(&v->lock);
	free(v);
}

/* The values are copied: the other threads' references to them would be counted without the lock. */
void veiled_learn(struct veiled *v, const json_t *envs)
{
	if (!envs)
		return;
	(void)pthread_mutex_lock(&v->lock);
	veil_learn(&v->list, envs);
	(void)pthread_mutex_unlock(&v->lock);
}

struct str veiled_text(struct veiled *v, struct str text, bool as_json, struct buf *out)
{
	(void)pthread_mutex_lock(&v->lock);

	struct str clean = veil(text, v->list, as_json, out);

	(void)pthread_mutex_unlock(&v->lock);
	return clean;
}
