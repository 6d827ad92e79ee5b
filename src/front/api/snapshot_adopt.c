/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/snapshot_adopt: POST /admin/snapshots: turns what 'atoll snapshot import' has put into the storage
 * into a snapshot.
 *
 * The warden is asked whether it exists. A saved state that already has an owner is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/account/accounts.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "ipc/check.h"

struct adopting {
	struct req *r;
	struct snapshot *sn;
	bool found;
};

static bool is_owned(const struct api *a, const char *name)
{
	const struct snapshot *sn;

	LIST_FOREACH(sn, &a->sandbox->snapshots, link)
	{
		if (strcmp(sn->saved, name) == 0)
			return true;
	}
	for (struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb)) {
		if (strcmp(sb->saved.name, name) == 0 || strcmp(sb->spec.from, name) == 0)
			return true;
	}
	return false;
}

/* Finds the template by its key: the image must be identical. */
static int take_template(const struct api *a, const json_t *o, struct template *ret, struct err *e)
{
	const char *key = NULL;

	if (json_get_str(o, "key", &key, e) < 0)
		return -e->no;
	for (size_t i = 0; key && i < a->sandbox->templates.n; i++) {
		if (strcmp(a->sandbox->templates.v[i].key, key) == 0) {
			*ret = a->sandbox->templates.v[i];
			return 0;
		}
	}
	return err_set(e, EINVAL, "the template that it was made from (%.40s) is not on this server",
	    key ? key : "unknown");
}

static int take_limits(const json_t *o, struct msg_limits *ret, struct err *e)
{
	int64_t mem = 0, disk = 0, cpu = 0, pids = 0;
	bool given;

	if (field_int(o, "memory", 1, INT64_MAX, &mem, &given, e) < 0 ||
	    field_int(o, "disk", 0, INT64_MAX, &disk, &given, e) < 0 ||
	    field_int(o, "cpu", 1, INT32_MAX, &cpu, &given, e) < 0 ||
	    field_int(o, "pids", 1, INT32_MAX, &pids, &given, e) < 0)
		return -e->no;
	ret->mem_bytes = (uint64_t)mem;
	ret->disk_bytes = (uint64_t)disk;
	ret->cpu_permille = (uint32_t)cpu;
	ret->pids = (uint32_t)pids;
	return 0;
}

static int take_name(const json_t *body, struct snapshot *sn, struct err *e)
{
	struct snapshot_ref ref = { .tag = "default" };
	const char *name = NULL, *alias = NULL, *tag = NULL;

	if (json_get_str(body, "name", &name, e) < 0 || json_get_str(body, "alias", &alias, e) < 0 ||
	    json_get_str(body, "tag", &tag, e) < 0)
		return -e->no;
	autofree char *old = alias ? str_fmt("%s:%s", alias, tag ? tag : "default") : NULL;

	if ((name || old) && snapshot_ref_parse(str_of(name ? name : old), &ref, e) < 0)
		return -e->no;
	memcpy(sn->alias, ref.name, sizeof sn->alias);
	memcpy(sn->tag, ref.tag, sizeof sn->tag);
	return 0;
}

static int read_body(const struct req *r, const json_t *body, struct snapshot *sn, struct err *e)
{
	const char *kept = NULL;
	json_t *template = NULL, *limits = NULL;
	bool memory = false;

	if (json_get_str(body, "kept", &kept, e) < 0 || json_get_bool(body, "memory", &memory, e) < 0 ||
	    json_get_obj(body, "template", &template, e) < 0 || json_get_obj(body, "limits", &limits, e) < 0)
		return -e->no;
	if (!kept || !str_copy(sn->saved, sizeof sn->saved, str_of(kept)) || !check_id(sn->saved) ||
	    is_owned(r->api, sn->saved))
		return err_set(e, EINVAL, "field 'kept' must name what lies in the pool and is nobody's");
	if (!template || !limits)
		return err_set(e, EINVAL, "fields 'template' and 'limits' are required");
	sn->limits = r->api->account->defaults;
	if (take_template(r->api, template, &sn->base, e) < 0 || take_limits(limits, &sn->limits, e) < 0 ||
	    take_name(body, sn, e) < 0)
		return -e->no;
	sn->what = SAVED_DISK | (memory ? SAVED_MEMORY : 0);
	sn->created_ms = clock_wall_ms();
	memcpy(sn->team, r->caller.team, sizeof sn->team);
	return 0;
}

static void answer(struct adopting *ad, struct err *e)
{
	struct api *a = ad->r->api;
	struct snapshot *sn = take_ptr(&ad->sn);
	char id[SNAPSHOT_NAME_SIZE], name[SNAPSHOT_NAME_SIZE];

	if (e->no) {
		free(sn);
	} else {
		snapshot_place(a->sandbox, sn);
		snapshot_names(a->sandbox, sn, id, name);
		(void)snapshot_add(a->sandbox, sn, e);
	}
	if (e->no) {
		reply_err(ad->r, e);
	} else {
		log_info("snapshot imported", "snapshot=%s request=%s", id, ad->r->id);
		reply_json(ad->r, 201, json_pack("{s:s}", "snapshotID", id), NULL);
	}
	req_unref(ad->r);
	free(ad);
}

static void on_listed(void *user, const struct warden_reply *re)
{
	struct adopting *ad = user;
	struct err e = ERR_INIT;

	if (re->more) {
		const struct msg_kept *m = (const struct msg_kept *)re->msg;

		if (strcmp(m->name, ad->sn->saved) == 0)
			ad->found = m->disk && (m->memory || !(ad->sn->what & SAVED_MEMORY));
		return;
	}
	if (re->no)
		(void)err_set(&e, re->no, "%s", re->text);
	else if (!ad->found || is_owned(ad->r->api, ad->sn->saved))
		(void)err_set(&e, EINVAL, "field 'kept' must name what lies in the pool and is nobody's");
	answer(ad, &e);
}

void api_snapshot_adopt(struct req *r)
{
	autojson json_t *body = req_json(r, false);
	struct msg_list list = { 0 };
	struct err e = ERR_INIT;

	if (!body)
		return;
	struct adopting *ad = must_alloc(sizeof *ad);

	*ad = (struct adopting) { .r = req_ref(r), .sn = must_alloc(sizeof *ad->sn) };
	if (read_body(r, body, ad->sn, &e) < 0)
		answer(ad, &e);
	else
		(void)warden_ask(r->api->link->warden, OP_KEPT, &list, sizeof list, on_listed, ad);
}
