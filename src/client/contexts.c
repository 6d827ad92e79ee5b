/* SPDX-License-Identifier: Apache-2.0 */
/* client/contexts: code contexts, which keep variables and imports. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill(struct kept *k, void *item, json_t *o)
{
	struct atoll_context *c = item;

	(void)k;
	*c = (struct atoll_context) { .id = json_text(o, "id"),
		.language = json_text(o, "language"),
		.cwd = json_text(o, "cwd") };
}

static int contexts_of(const struct call *c, json_type type, struct atoll_contexts **ret, struct atoll_error *e)
{
	json_t *answer = NULL;
	struct kept *k;

	if (call_json(c, type, &answer, e) < 0 || kept_new(answer, sizeof(struct atoll_context), fill, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->contexts;
	return 0;
}

int atoll_contexts_list(struct atoll_sandbox *sb, struct atoll_contexts **ret, struct atoll_error *e)
{
	NEED(e, sb && ret);
	autocall struct call c = CALL_INIT("GET", sb->code_url, "/contexts");

	return code_call(sb, &c, NULL, e) < 0 ? -e->no : contexts_of(&c, JSON_ARRAY, ret, e);
}

int atoll_context_create(struct atoll_sandbox *sb, const char *language, const char *cwd, struct atoll_contexts **ret,
    struct atoll_error *e)
{
	NEED(e, sb && ret);
	autocall struct call c = CALL_INIT("POST", sb->code_url, "/contexts");
	autojson json_t *body = json_pack("{s:s*,s:s*}", "language", language, "cwd", cwd);

	if (!body)
		return client_fail(e, EINVAL, 0, "the language or directory is not valid UTF-8");
	return code_call(sb, &c, body, e) < 0 ? -e->no : contexts_of(&c, JSON_OBJECT, ret, e);
}

static int context_call(struct atoll_sandbox *sb, const char *method, const char *id, const char *tail,
    struct atoll_error *e)
{
	autofree char *path = api_path("/contexts/", id, tail);
	autocall struct call c = CALL_INIT(method, sb->code_url, path);

	if (!*id)
		return client_fail(e, EINVAL, 0, "the context id is empty");
	return code_call(sb, &c, NULL, e);
}

int atoll_context_restart(struct atoll_sandbox *sb, const char *id, struct atoll_error *e)
{
	NEED(e, sb && id);
	return context_call(sb, "POST", id, "/restart", e);
}

int atoll_context_remove(struct atoll_sandbox *sb, const char *id, struct atoll_error *e)
{
	NEED(e, sb && id);
	return context_call(sb, "DELETE", id, "", e);
}

void atoll_contexts_free(struct atoll_contexts *l)
{
	kept_free((struct kept *)l);
}
