/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/snapshots: names of snapshots, in memory and in the store. */
#include "front/sandbox/snapshots.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/sandboxes.h"
#include "front/util/mem.h"
#include "front/util/token.h"
#include "ipc/check.h"
#include "store/snapshots.h"

#define DEFAULT_TAG "default"

/* Copies s in lower case. Allows only [a-z0-9_-] and the characters in more. */
static int take_part(struct str s, const char *more, char *ret, size_t size)
{
	s = str_trim(s);
	if (s.n == 0 || !str_copy(ret, size, s))
		return -EINVAL;
	for (char *p = ret; *p; p++) {
		*p = (char)tolower((unsigned char)*p);
		if (!isalnum((unsigned char)*p) && !strchr("_-", *p) && !strchr(more, *p))
			return -EINVAL;
	}
	return 0;
}

int snapshot_ref_parse(struct str text, struct snapshot_ref *ret, struct err *e)
{
	struct snapshot_ref ref = { .tag = DEFAULT_TAG };
	struct str rest = str_trim(text);
	struct str name = str_cut(&rest, ':');

	ref.has_tag = rest.p != NULL;
	if (rest.p && take_part(rest, ".", ref.tag, sizeof ref.tag) < 0)
		return err_set(e, EINVAL, "invalid tag: '%.*s'", (int)(rest.n > 60 ? 60 : rest.n), rest.p);
	struct str alias = name, namespace = str_cut(&alias, '/');

	if (alias.p && take_part(namespace, "", ref.namespace, sizeof ref.namespace) < 0)
		return err_set(e, EINVAL, "invalid namespace: '%.*s'", (int)(namespace.n > 60 ? 60 : namespace.n),
		    namespace.p);
	if (take_part(alias.p ? alias : name, "", ref.name, sizeof ref.name) < 0)
		return err_set(e, EINVAL, "invalid name: '%.*s'; a name has letters, digits, '-' and '_'",
		    (int)(text.n > 60 ? 60 : text.n), text.p);
	*ret = ref;
	return 0;
}

/* Derived from the name of the saved state, which is unique. */
void snapshot_build_id(const struct snapshot *sn, char ret[TPL_BUILD_SIZE])
{
	uint8_t hash[SHA256_SIZE];

	sha256(str_of(sn->saved), hash);
	uuid_put(hash, 8, ret);
}

void snapshot_namespace(const struct sandboxes *all, const char *team, char ret[TEMPLATE_NAME_SIZE])
{
	const struct team *t = keyring_team(all->account->keyring, str_of(team));
	size_t n = 0;

	for (const char *p = t ? t->name : team; *p && n < TEMPLATE_NAME_SIZE - 1; p++)
		ret[n++] = isalnum((unsigned char)*p) || *p == '_' ? (char)tolower((unsigned char)*p) : '-';
	ret[n] = '\0';
}

bool snapshot_matches(const struct sandboxes *all, const struct snapshot *sn, const struct snapshot_ref *ref)
{
	char ns[TEMPLATE_NAME_SIZE];

	if (ref->has_tag && strcmp(sn->tag, ref->tag) != 0)
		return false;
	if (!ref->namespace[0] && strcmp(sn->template_id, ref->name) == 0)
		return true;
	if (!sn->alias[0] || strcmp(sn->alias, ref->name) != 0)
		return false;
	snapshot_namespace(all, sn->team, ns);
	return !ref->namespace[0] || strcmp(ref->namespace, ns) == 0;
}

struct snapshot *snapshot_find(const struct sandboxes *all, const char *team, const struct snapshot_ref *ref)
{
	struct snapshot_ref exact = *ref;
	struct snapshot *sn;

	exact.has_tag = true; /* no tag means "default" */
	LIST_FOREACH(sn, &all->snapshots, link)
	{
		if (strcmp(sn->team, team) == 0 && snapshot_matches(all, sn, &exact))
			return sn;
	}
	return NULL;
}

void snapshot_names(const struct sandboxes *all, const struct snapshot *sn, char id[SNAPSHOT_NAME_SIZE],
    char name[SNAPSHOT_NAME_SIZE])
{
	char ns[TEMPLATE_NAME_SIZE];

	snapshot_namespace(all, sn->team, ns);
	name[0] = '\0';
	if (sn->alias[0])
		(void)snprintf(name, SNAPSHOT_NAME_SIZE, "%s/%s", ns, sn->alias);
	(void)snprintf(id, SNAPSHOT_NAME_SIZE, "%s:%s", sn->alias[0] ? name : sn->template_id, sn->tag);
}

static void snapshot_free(struct snapshot *sn)
{
	free(sn->volumes);
	free(sn);
}

void snapshot_place(const struct sandboxes *all, struct snapshot *sn)
{
	const struct snapshot *other;

	LIST_FOREACH(other, &all->snapshots, link)
	{
		if (sn->alias[0] && strcmp(other->team, sn->team) == 0 && strcmp(other->alias, sn->alias) == 0) {
			memcpy(sn->template_id, other->template_id, sizeof sn->template_id);
			return;
		}
	}
	rand_label(sn->template_id, 20);
}

static int write_row(struct sandboxes *all, const struct snapshot *sn, struct err *e)
{
	struct snapshot_row row = {
		.template_id = sn->template_id,
		.tag = sn->tag,
		.team = sn->team,
		.alias = sn->alias[0] ? sn->alias : NULL,
		.source = sn->source,
		.kept_name = sn->saved,
		.kept = sn->what,
		.base_id = sn->base.id,
		.base_name = sn->base.name,
		.base_key = sn->base.key,
		.mem_bytes = sn->limits.mem_bytes,
		.disk_bytes = sn->limits.disk_bytes,
		.cpu_permille = sn->limits.cpu_permille,
		.pids = sn->limits.pids,
		.created_ms = sn->created_ms,
		.volumes = sn->volumes,
	};

	return snapshots_put(all->link->store, &row, e);
}

int snapshot_add(struct sandboxes *all, struct snapshot *sn, struct err *e)
{
	struct snapshot *old;

	if (write_row(all, sn, e) < 0) {
		snapshot_free(sn);
		return -e->no;
	}
	LIST_FOREACH(old, &all->snapshots, link)
	{
		if (strcmp(old->template_id, sn->template_id) != 0 || strcmp(old->tag, sn->tag) != 0)
			continue;
		saved_delete(all->link, old->saved);
		LIST_REMOVE(old, link);
		snapshot_free(old);
		break;
	}
	LIST_INSERT_HEAD(&all->snapshots, sn, link);
	return 0;
}

int snapshot_remove(struct sandboxes *all, struct snapshot *sn, struct err *e)
{
	if (snapshots_drop(all->link->store, sn->template_id, sn->tag, e) < 0)
		return -e->no;
	saved_delete(all->link, sn->saved);
	LIST_REMOVE(sn, link);
	snapshot_free(sn);
	return 0;
}

struct load {
	struct sandboxes *all;
	bool (*is_saved)(void *user, const char *name, bool *ret_memory);
	void *user;
};

static int on_row(void *user, const struct snapshot_row *r)
{
	struct load *l = user;
	struct snapshot *sn = must_alloc(sizeof *sn);
	bool memory = false;

	sn->what = r->kept;
	sn->volumes = r->volumes ? must_dup_str(str_of(r->volumes)) : NULL;
	sn->created_ms = r->created_ms;
	sn->limits = (struct msg_limits) { r->mem_bytes, r->disk_bytes, r->cpu_permille, r->pids };
	if (!str_copy(sn->template_id, sizeof sn->template_id, str_of(r->template_id)) ||
	    !str_copy(sn->tag, sizeof sn->tag, str_of(r->tag)) ||
	    !str_copy(sn->alias, sizeof sn->alias, str_of(r->alias ? r->alias : "")) ||
	    !str_copy(sn->team, sizeof sn->team, str_of(r->team)) ||
	    !str_copy(sn->source, sizeof sn->source, str_of(r->source)) ||
	    !str_copy(sn->saved, sizeof sn->saved, str_of(r->kept_name)) || !check_id(sn->saved) ||
	    !str_copy(sn->base.id, sizeof sn->base.id, str_of(r->base_id)) ||
	    !str_copy(sn->base.name, sizeof sn->base.name, str_of(r->base_name)) ||
	    !str_copy(sn->base.key, sizeof sn->base.key, str_of(r->base_key)) ||
	    !l->is_saved(l->user, sn->saved, &memory) || ((sn->what & SAVED_MEMORY) && !memory)) {
		log_warn("ignoring a snapshot that is damaged or missing", "name=%s", r->kept_name ? r->kept_name : "");
		snapshot_free(sn);
		return 0;
	}
	LIST_INSERT_HEAD(&l->all->snapshots, sn, link);
	return 0;
}

int snapshots_load(struct sandboxes *all, bool (*is_saved)(void *user, const char *name, bool *ret_memory), void *user,
    struct err *e)
{
	struct load l = { all, is_saved, user };

	return snapshots_each(all->link->store, on_row, &l, e);
}

void snapshots_free(struct sandboxes *all)
{
	struct snapshot *sn;

	while ((sn = LIST_FIRST(&all->snapshots))) {
		LIST_REMOVE(sn, link);
		snapshot_free(sn);
	}
}
