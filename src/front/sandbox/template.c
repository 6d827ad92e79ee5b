/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/template: resolving template references. */
#include "front/sandbox/template.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "front/util/token.h"
#include "ipc/check.h"

#define NAMESPACE "default" /* the namespace of the only team */
#define DEFAULT_TAG "default"

#define DATA_WORK "code-interpreter-v1"

/* Names that client programs use; all expect Python and a shell. Those for data work stand for DATA_WORK if the
 * server has it, the others for base. */
static const struct {
	const char *name;
	bool data;
} well_known[] = {
	{ DATA_WORK, true },
	{ "python-datascience", true },
	{ "python3", false },
	{ "node-js", false },
};

static void make_id(const char *name, char id[TEMPLATE_ID_SIZE])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	uint8_t hash[SHA256_SIZE];

	sha256(str_of(name), hash);
	for (size_t i = 0; i < 20; i++)
		id[i] = digits[hash[i] % 36];
	id[20] = '\0';
}

void template_build_of_key(const char *key, char ret[TPL_BUILD_SIZE])
{
	if (strlen(key) == 32)
		(void)snprintf(ret, TPL_BUILD_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", key, key + 8, key + 12, key + 16,
		    key + 20);
	else
		(void)str_copy(ret, TPL_BUILD_SIZE, str_of(key));
}

static void add(struct templates *t, const char *name, const char *key, uint64_t built_ms)
{
	struct template *tp = &t->v[t->n++];

	(void)str_copy(tp->name, sizeof tp->name, str_of(name));
	(void)str_copy(tp->key, sizeof tp->key, str_of(key));
	template_build_of_key(key, tp->build);
	tp->built_ms = built_ms;
	make_id(name, tp->id);
}

static const struct template *by_name(const struct templates *t, struct str name)
{
	for (size_t i = 0; i < t->n; i++) {
		if (str_is(name, t->v[i].name) || str_is(name, t->v[i].id))
			return &t->v[i];
	}
	return NULL;
}

int templates_init(struct templates *t, const struct msg_template *have, size_t n, struct err *e)
{
	*t = (struct templates) { 0 };
	for (size_t i = 0; i < n && i < TEMPLATES_MAX; i++) {
		if (!check_text(have[i].name, sizeof have[i].name) || !check_template_key(have[i].key))
			return err_set(e, EPROTO, "template %zu of the warden is malformed", i);
		add(t, have[i].name, have[i].key, have[i].built_ms);
	}

	const struct template *base = by_name(t, STR_LIT("base")), *data = by_name(t, STR_LIT(DATA_WORK));

	if (!base)
		return err_set(e, ENOENT, "the warden has no template 'base'");
	for (size_t i = 0; i < ARRAY_LEN(well_known); i++) {
		const struct template *same = well_known[i].data && data ? data : base;

		if (!by_name(t, str_of(well_known[i].name)))
			add(t, well_known[i].name, same->key, same->built_ms);
	}
	return 0;
}

/* Converts to lower case without surrounding blanks, the form in which names are compared. */
static bool normalise(struct str ref, char *out, size_t size)
{
	if (!str_copy(out, size, str_trim(ref)))
		return false;
	for (char *c = out; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return true;
}

static bool made_of(struct str s, const char *extra)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr(extra, c)))
			return false;
	}
	return s.n > 0;
}

bool template_ref_valid(struct str ref)
{
	char low[TEMPLATE_NAME_SIZE * 2];
	struct str space = STR_NULL;

	if (!normalise(ref, low, sizeof low))
		return false;

	struct str tag = str_of(low);
	struct str name = str_cut(&tag, ':');

	if (memchr(name.p, '/', name.n))
		space = str_cut(&name, '/');
	return made_of(name, "_-") && (!space.p || made_of(space, "_-")) && (!tag.p || made_of(tag, "_-."));
}

int templates_find(const struct templates *t, struct str ref, const struct template **ret, struct err *e)
{
	char low[TEMPLATE_NAME_SIZE * 2];
	struct str name, space = STR_NULL;

	if (!normalise(ref, low, sizeof low))
		return err_set(e, ENOENT, "template '%.*s...' not found", 60, ref.p);
	struct str tag = str_of(low);

	name = str_cut(&tag, ':');
	if (memchr(name.p, '/', name.n))
		space = str_cut(&name, '/');

	const struct template *tp = by_name(t, name);

	if (!tp || (space.p && !str_is(space, NAMESPACE)))
		return err_set(e, ENOENT, "template '%.*s' not found", (int)(ref.n > 100 ? 100 : ref.n), ref.p);
	if (tag.p && !str_is(tag, DEFAULT_TAG))
		return err_set(e, ENOENT, "tag '%.*s' does not exist for template '%.*s'", STR_ARG(tag), STR_ARG(name));
	*ret = tp;
	return 0;
}
