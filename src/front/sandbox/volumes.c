/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/volumes: the volumes of all teams. */
#include "front/sandbox/volumes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "ipc/check.h"
#include "loop/loop.h"
#include "store/volumes.h"

#define AGAIN_MS 500
#define IDLE_MS 10000 /* of an idle connection: each has a server process */

bool volume_name_valid(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
			c == '_'))
			return false;
	}
	return name.n > 0 && name.n < VOLUME_NAME_SIZE;
}

struct volume *volume_find(const struct sandboxes *all, const char *team, const char *which)
{
	struct volume *v, *by_name = NULL;

	LIST_FOREACH(v, &all->volumes, link)
	{
		if (!v->ready || strcmp(v->team, team) != 0)
			continue;
		if (strcmp(v->id, which) == 0)
			return v;
		if (strcmp(v->name, which) == 0)
			by_name = v;
	}
	return by_name;
}

struct volume *volume_by_id(const struct sandboxes *all, struct str id)
{
	struct volume *v;

	LIST_FOREACH(v, &all->volumes, link)
	{
		if (v->ready && str_is(id, v->id))
			return v;
	}
	return NULL;
}

struct volume *volume_ref(struct volume *v)
{
	v->refs++;
	return v;
}

void volume_unref(struct volume *v)
{
	if (!v || --v->refs > 0)
		return;
	upstream_close_all(&v->idle);
	share_done(&v->share);
	free(v);
}

static void volume_unlist(struct volume *v)
{
	if (v->gone)
		return;
	v->gone = true;
	v->ready = false;
	LIST_REMOVE(v, link);
	upstream_close_all(&v->idle);
	volume_unref(v);
}

const struct sandbox *volume_user(const struct volume *v, size_t *ret_n)
{
	const struct sandbox_table *t = v->all->table;
	const struct sandbox *first = NULL;

	*ret_n = 0;
	for (const struct sandbox *sb = sandbox_table_next(t, NULL); sb; sb = sandbox_table_next(t, sb)) {
		if (!spec_has_volume(&sb->spec, v->id))
			continue;
		first = first ? first : sb;
		(*ret_n)++;
	}
	return first;
}

/* --- deletion ----------------------------------------------------------------------------------------------- */

struct volume_drop {
	LIST_ENTRY(volume_drop) link;
	struct sandboxes *all;
	struct timer *timer;
	char id[ID_SIZE], request[REQUEST_ID_SIZE];
};

static void ask_drop(void *user);

static void drop_free(struct volume_drop *d)
{
	LIST_REMOVE(d, link);
	timer_free(d->timer);
	free(d);
}

static void on_dropped(void *user, const struct warden_reply *re)
{
	struct volume_drop *d = user;
	struct err e = ERR_INIT;

	/* EBUSY: a sandbox that had it mounted is still exiting. */
	if (re->no == EAGAIN || re->no == EBUSY) {
		if (!d->timer)
			d->timer = timer_new(d->all->link->loop, ask_drop, d);
		if (d->timer) {
			timer_arm(d->timer, AGAIN_MS);
			return;
		}
	}
	if (re->no) /* the row stays, and the next front tries again */
		log_warn("could not remove a volume", "volume=%s err=%s", d->id, re->text);
	else if (volumes_drop(d->all->link->store, d->id, &e) < 0)
		log_warn("could not delete the row of a volume: the next start retries", "volume=%s err=%s", d->id,
		    e.text);
	drop_free(d);
}

static void ask_drop(void *user)
{
	struct volume_drop *d = user;
	struct msg_name m = { 0 };

	memcpy(m.name, d->id, sizeof m.name);
	memcpy(m.request, d->request, sizeof m.request);
	(void)warden_ask(d->all->link->warden, OP_VOLUME_DROP, &m, sizeof m, on_dropped, d);
}

static void drop_begin(struct sandboxes *all, const char *id, const char *request)
{
	struct volume_drop *d = must_alloc(sizeof *d);

	LIST_INSERT_HEAD(&all->volume_drops, d, link);
	d->all = all;
	(void)str_copy(d->id, sizeof d->id, str_of(id));
	(void)str_copy(d->request, sizeof d->request, str_of(request));
	ask_drop(d);
}

int volume_drop(struct volume *v, const char *request, struct err *e)
{
	if (volumes_set(v->all->link->store, v->id, VOLUME_DROPPING, v->bytes, e) < 0)
		return -e->no;
	log_info("volume deleted", "volume=%s name=%s team=%s request=%s", v->id, v->name, v->team, request);
	drop_begin(v->all, v->id, request);
	volume_unlist(v);
	return 0;
}

/* --- creation and resizing ---------------------------------------------------------------------------------- */

struct setting {
	struct volume *v;
	uint64_t bytes;
	char request[REQUEST_ID_SIZE];
	volume_fn *fn;
	void *user;
};

static void set_over(struct setting *s, const struct err *e)
{
	s->fn(s->user, s->v, e);
	volume_unref(s->v);
	free(s);
}

static void on_made(void *user, const struct warden_reply *re)
{
	struct setting *s = user;
	struct volume *v = s->v;
	struct sandboxes *all = v->all;
	struct err e = ERR_INIT, ignored;

	if (re->no)
		(void)err_set(&e, re->no, "%s", re->text);
	else if (v->gone)
		(void)err_set(&e, ENOENT, "volume '%s' was deleted", v->name);
	else
		(void)volumes_set(all->link->store, v->id, VOLUME_READY, s->bytes, &e);
	if (!e.no) {
		v->ready = true;
		v->bytes = s->bytes;
	} else if (!v->gone && !v->ready) {
		if (volumes_set(all->link->store, v->id, VOLUME_DROPPING, v->bytes, &ignored) < 0)
			log_warn("could not record the deletion of a volume", "volume=%s err=%s", v->id, ignored.text);
		drop_begin(all, v->id, s->request);
		volume_unlist(v);
	}
	set_over(s, &e);
}

void volume_resize(struct volume *v, uint64_t bytes, const char *request, volume_fn *fn, void *user)
{
	struct setting *s = must_alloc(sizeof *s);
	struct msg_volume m = { .bytes = bytes };

	*s = (struct setting) { .v = volume_ref(v), .bytes = bytes, .fn = fn, .user = user };
	(void)str_copy(s->request, sizeof s->request, str_of(request));
	memcpy(m.name, v->id, sizeof m.name);
	memcpy(m.request, s->request, sizeof m.request);
	(void)warden_ask(v->all->link->warden, OP_VOLUME, &m, sizeof m, on_made, s);
}

int volume_make(struct sandboxes *all, const char *team, const char *name, uint64_t bytes, const char *request,
    volume_fn *fn, void *user, struct err *e)
{
	struct volume *v = must_alloc(sizeof *v);

	v->all = all;
	v->refs = 1;
	share_init(&v->share, all->link->loop);
	v->bytes = bytes;
	v->created_ms = clock_wall_ms();
	v->id[0] = 'v';
	rand_label(v->id + 1, 19);
	token_make(v->token);
	(void)str_copy(v->team, sizeof v->team, str_of(team));
	(void)str_copy(v->name, sizeof v->name, str_of(name));
	struct volume_row row = { v->id, v->team, v->name, v->token, bytes, VOLUME_MAKING, v->created_ms };

	if (volumes_add(all->link->store, &row, e) < 0) {
		free(v);
		return -e->no;
	}
	LIST_INSERT_HEAD(&all->volumes, v, link);
	volume_resize(v, bytes, request, fn, user);
	return 0;
}

/* --- all volumes -------------------------------------------------------------------------------------------- */

static int on_row(void *user, const struct volume_row *r)
{
	struct sandboxes *all = user;
	struct volume *v;
	char id[ID_SIZE] = "";

	if (!r->id || !str_copy(id, sizeof id, str_of(r->id)) || !check_id(id)) {
		log_warn("ignoring a damaged row of a volume", "volume=%s", r->id ? r->id : "");
		return 0;
	}
	if (r->state != VOLUME_READY) {
		log_info("removing a volume whose creation or deletion was interrupted", "volume=%s", id);
		drop_begin(all, id, "");
		return 0;
	}
	v = must_alloc(sizeof *v);
	v->all = all;
	v->refs = 1;
	share_init(&v->share, all->link->loop);
	v->ready = true;
	v->bytes = r->bytes;
	v->created_ms = r->created_ms;
	memcpy(v->id, id, sizeof v->id);
	if (!str_copy(v->team, sizeof v->team, str_of(r->team)) ||
	    !str_copy(v->name, sizeof v->name, str_of(r->name)) ||
	    !str_copy(v->token, sizeof v->token, str_of(r->token)) || !v->token[0]) {
		log_warn("ignoring a damaged row of a volume", "volume=%s", id);
		free(v);
		return 0;
	}
	LIST_INSERT_HEAD(&all->volumes, v, link);
	return 0;
}

int volumes_load(struct sandboxes *all, struct err *e)
{
	return volumes_each(all->link->store, on_row, all, e);
}

void volumes_tick(struct sandboxes *all)
{
	uint64_t now = loop_now_ms(all->link->loop);
	struct volume *v;

	LIST_FOREACH(v, &all->volumes, link)
	{
		size_t old = 0;

		while (old < v->idle.n && now - v->idle.idle[old].since_ms >= IDLE_MS)
			fd_close(v->idle.idle[old++].fd);
		memmove(v->idle.idle, v->idle.idle + old, (v->idle.n - old) * sizeof *v->idle.idle);
		v->idle.n -= old;
	}
}

void volumes_make_room(struct sandboxes *all)
{
	struct volume *v, *oldest = NULL;

	LIST_FOREACH(v, &all->volumes, link)
	{
		if (v->idle.n > 0 && (!oldest || v->idle.idle[0].since_ms < oldest->idle.idle[0].since_ms))
			oldest = v;
	}
	if (!oldest)
		return;
	fd_close(oldest->idle.idle[0].fd);
	oldest->idle.n--;
	memmove(oldest->idle.idle, oldest->idle.idle + 1, oldest->idle.n * sizeof *oldest->idle.idle);
}

size_t volumes_conns(const struct sandboxes *all)
{
	const struct volume *v;
	size_t n = all->volume_calls;

	LIST_FOREACH(v, &all->volumes, link)
	n += v->idle.n;
	return n;
}

void volumes_free(struct sandboxes *all)
{
	struct volume_drop *d;
	struct volume *v;

	while ((d = LIST_FIRST(&all->volume_drops)))
		drop_free(d);
	while ((v = LIST_FIRST(&all->volumes)))
		volume_unlist(v);
}
