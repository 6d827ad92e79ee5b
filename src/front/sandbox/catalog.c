/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/catalog: resolves a name to what a sandbox starts from. */
#include "front/sandbox/catalog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/limits.h"
#include "front/link/links.h"
#include "front/sandbox/sandboxes.h"

#define MCP_TEMPLATE "mcp-gateway" /* SDKs request this template for their option 'mcp' */

static int not_found(struct str ref, struct err *e)
{
	if (str_is(ref, MCP_TEMPLATE))
		return err_set(e, ENOENT,
		    "template '" MCP_TEMPLATE
		    "' not found: the option 'mcp' of clients wants one of that name with the program mcp-gateway in "
		    "it. The tools of this server itself are at /mcp");
	return err_set(e, ENOENT, "template '%.*s' not found", (int)(ref.n > 100 ? 100 : ref.n), ref.p);
}

/* Looks in the team that the namespace names; without one, in the caller's. */
static int find_named(const struct sandboxes *all, const char *team, const struct snapshot_ref *ref,
    struct template_row *ret, struct err *e)
{
	char own[TEMPLATE_NAME_SIZE];
	struct team *t;

	if (!ref->namespace[0])
		return templates_by_name(all->link->store, team, ref->name, ret, e);
	snapshot_namespace(all, team, own);
	if (strcmp(own, ref->namespace) == 0 && templates_by_name(all->link->store, team, ref->name, ret, e) == 0)
		return 0;
	for (t = keyring_next_team(all->account->keyring, NULL); t; t = keyring_next_team(all->account->keyring, t)) {
		snapshot_namespace(all, t->id, own);
		if (strcmp(own, ref->namespace) == 0 &&
		    templates_by_name(all->link->store, t->id, ref->name, ret, e) == 0)
			return 0;
	}
	return -ENOENT;
}

int catalog_row(const struct sandboxes *all, const char *team, struct str text, struct template_row *ret,
    struct snapshot_ref *ret_ref, struct err *e)
{
	struct snapshot_ref ref;

	if (snapshot_ref_parse(text, &ref, e) < 0)
		return -e->no;
	if (find_named(all, team, &ref, ret, e) < 0 &&
	    (ref.namespace[0] || templates_by_id(all->link->store, ref.name, ret, e) < 0))
		return not_found(text, e);
	if (ret_ref)
		*ret_ref = ref;
	if (strcmp(ret->team, team) != 0 && !ret->is_public)
		/* the same answer as for a missing one, so that other teams cannot learn that it exists */
		return not_found(text, e);
	return 0;
}

void catalog_limits(const struct sandboxes *all, const struct template *tpl, const struct build_row *b,
    struct msg_limits *ret)
{
	struct limits_range range;

	limits_of_template(all, tpl, &range);
	*ret = range.defaults;
	ret->mem_bytes = b->mem_bytes;
	ret->disk_bytes = b->disk_bytes;
	ret->cpu_permille = b->cpu_permille;
	ret->pids = b->pids;
	limits_clip(ret, &range.maxima);
}

bool is_build_id(const char *z)
{
	return strlen(z) == 36 && z[8] == '-' && z[13] == '-' && z[18] == '-' && z[23] == '-' &&
	    strspn(z, "0123456789abcdef-") == 36;
}

int catalog_build(const struct sandboxes *all, const struct template_row *row, const struct snapshot_ref *ref,
    struct build_row *ret, struct err *e)
{
	struct tag_row tag;

	if (is_build_id(ref->tag)) { /* no tag has the form of a UUID */
		if (builds_find(all->link->store, ref->tag, ret, e) < 0 || strcmp(ret->template_id, row->id) != 0)
			return err_set(e, ENOENT, "build '%s' does not exist for template '%s'", ref->tag, row->name);
	} else if (tags_find(all->link->store, row->id, ref->tag, &tag, e) < 0) {
		return ref->has_tag
		    ? err_set(e, ENOENT, "tag '%s' does not exist for template '%s'", ref->tag, row->name)
		    : err_set(e, ENOENT, "template '%s' has no build that is ready", row->name);
	} else if (builds_find(all->link->store, tag.build, ret, e) < 0) {
		return err_set(e, ENOENT, "template '%s' has no build that is ready", row->name);
	}
	if (strcmp(ret->status, "ready") != 0)
		return err_set(e, ENOENT, "template '%s' has no build that is ready", row->name);
	if (!ret->kept[0] && is_build_id(ref->tag))
		return err_set(e, ENOENT, "build '%s' of template '%s' had no tag and was tidied away", ret->id,
		    row->name);
	return 0;
}

static int take_build(const struct sandboxes *all, const struct template_row *row, const struct snapshot_ref *ref,
    struct catalog_entry *ret, struct err *e)
{
	struct build_row b;

	if (catalog_build(all, row, ref, &b, e) < 0)
		return -e->no;
	*ret = (struct catalog_entry) {
		.what = b.what,
		.is_built = true,
		.row = *row,
	};
	memcpy(ret->tpl.id, row->id, sizeof row->id);
	(void)str_copy(ret->tpl.name, sizeof ret->tpl.name, str_of(row->name));
	memcpy(ret->tpl.key, b.base_key, sizeof ret->tpl.key);
	ret->tpl.built_ms = b.finished_ms;
	catalog_limits(all, &ret->tpl, &b, &ret->limits);
	memcpy(ret->saved, b.kept, sizeof ret->saved);
	memcpy(ret->tpl.build, b.id, sizeof ret->tpl.build);
	return 0;
}

int catalog_find(const struct sandboxes *all, const char *team, struct str text, struct catalog_entry *ret,
    struct err *e)
{
	struct template_row row;
	struct snapshot_ref ref;
	const struct template *tp;

	if (catalog_row(all, team, text, &row, &ref, e) == 0)
		return take_build(all, &row, &ref, ret, e);
	if (templates_find(&all->templates, text, &tp, e) < 0)
		return str_is(text, MCP_TEMPLATE) ? not_found(text, e) : -e->no;
	*ret = (struct catalog_entry) { .tpl = *tp, .limits = all->account->defaults };
	return 0;
}

void catalog_names(const struct sandboxes *all, const struct template_row *r, char ret[SNAPSHOT_NAME_SIZE])
{
	char ns[TEMPLATE_NAME_SIZE];

	snapshot_namespace(all, r->team, ns);
	(void)snprintf(ret, SNAPSHOT_NAME_SIZE, "%s/%s", ns, r->name);
}

void limits_of_template(const struct sandboxes *all, const struct template *tpl, struct limits_range *ret)
{
	const struct templates *t = &all->templates;
	size_t i = 0;

	while (i < t->n && strcmp(t->v[i].key, tpl->key) != 0)
		i++;
	limits_of_name(all->account, tpl->name, i < t->n ? t->v[i].name : NULL, ret);
}
