/* SPDX-License-Identifier: Apache-2.0 */
/* front/veil: one pass over the text for all values. */
#include "front/veil.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/secretive.h"
#include "front/mem.h"

#define LEARNED_MAX (64 * 1024)		/* bytes of all values: those of a sandbox are in memory until its end */
#define FORMS 3				/* as it is, and as JSON with and without escapes for what is not ASCII */

static bool is_known(const json_t *list, const json_t *v)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) {
		if (json_equal(one, v))
			return true;
	}
	return false;
}

static void append(json_t *list, json_t *v)
{
	size_t bytes = 0, i;
	json_t *one;

	(void)json_array_append(list, v);
	json_array_foreach(list, i, one)
		bytes += json_string_length(one);
	for (; bytes > LEARNED_MAX; (void)json_array_remove(list, 0))
		bytes -= json_string_length(json_array_get(list, 0));
}

void veil_learn(json_t **list, const json_t *envs)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)envs, name, v) {
		size_t n = json_string_length(v);

		if (!json_is_string(v) || n < SECRET_MIN || n > LEARNED_MAX / 2 || !secretive_name(name) || is_known(*list, v))
			continue;
		if (!*list)
			*list = json_array();
		append(*list, v);
	}
}

struct needles {
	struct str *v;
	char **own;			/* that of v which are ours */
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

struct str veil(struct str text, const json_t *list, bool as_json, struct buf *out)
{
	size_t max = json_array_size(list) * FORMS, done = 0, i;
	json_t *v;

	if (max == 0 || text.n < SECRET_MIN)
		return text;
	struct needles ns = { .v = must_alloc(max * sizeof *ns.v), .own = must_alloc(max * sizeof *ns.own) };

	json_array_foreach((json_t *)list, i, v) {
		add(&ns, (struct str) { json_string_value(v), json_string_length(v) });
		if (as_json) {
			add_json(&ns, v, 0);
			add_json(&ns, v, JSON_ENSURE_ASCII);
		}
	}
	for (i = 0; i < text.n;) {
		size_t k = ns.first[(unsigned char)text.p[i]] ? longest_at(&ns, (struct str) { text.p + i, text.n - i }) : 0;

		if (k) {
			buf_str(out, (struct str) { text.p + done, i - done });
			buf_z(out, REDACTED);
			done = i + k;
		}
		i += k ? k : 1;
	}
	if (done)
		buf_str(out, (struct str) { text.p + done, text.n - done });
	while (ns.n_own > 0)
		free(ns.own[--ns.n_own]);
	free(ns.own);
	free(ns.v);
	return done ? buf_view(out) : text;
}
