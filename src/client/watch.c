/* SPDX-License-Identifier: Apache-2.0 */
/* client/watch: changes of files in a sandbox, streamed or polled. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "client/event.h"
#include "http/json.h"

#define TIMEOUT_MS 60000u

static int check(const struct atoll_watch_spec *given, struct atoll_watch_spec *spec, struct atoll_error *e)
{
	if (TAKE_IN(spec, given, e) < 0)
		return -e->no;
	return spec->path ? 0 : client_fail(e, EINVAL, 0, "the path to watch is missing");
}

/* --- streaming --- */

struct watch {
	const struct atoll_watch_spec *spec;
	atoll_on_change *on;
	void *user;
	bool stopped;
};

static int on_event(void *user, const struct event *ev, const struct buf *data, struct atoll_error *e)
{
	struct watch *w = user;

	if (ev->kind == EVENT_WATCHING && w->spec->on_ready)
		w->spec->on_ready(w->user);
	if (ev->kind != EVENT_CHANGE)
		return 0;
	autofree char *name = str_dup(buf_view(data));

	if (!name)
		return client_no_memory(e);
	w->stopped = w->on(w->user, &(struct atoll_file_event) { ev->change, name }) != 0;
	return w->stopped ? client_fail(e, ECANCELED, 0, "interrupted") : 0;
}

int atoll_watch(struct atoll_sandbox *sb, const struct atoll_watch_spec *given, atoll_on_change *on, void *user,
    struct atoll_error *e)
{
	NEED(e, sb && given && on);
	struct atoll_watch_spec spec;

	if (check(given, &spec, e) < 0)
		return -e->no;
	autojson json_t *body = json_pack("{s:s,s:b}", "path", spec.path, "recursive", spec.recursive);
	struct watch w = { &spec, on, user, false };
	struct rpc_stream s = {
		.sb = sb,
		.as_user = spec.as_user,
		.path = "/filesystem.Filesystem/WatchDir",
		.timeout_ms = spec.timeout_ms ? spec.timeout_ms : TIMEOUT_MS,
		.on_event = on_event,
		.user = &w,
	};
	int rc = rpc_stream(&s, body, e);

	if (w.stopped)
		return 1;
	return rc == -ETIMEDOUT ? 0 : rc == 0 ? client_broke(sb, "the watch ended", e) : rc;
}

/* --- polling --- */

struct atoll_watcher {
	struct atoll_sandbox *sb;
	char *id, *as_user;
};

int atoll_watcher_new(struct atoll_sandbox *sb, const struct atoll_watch_spec *given, struct atoll_watcher **ret,
    struct atoll_error *e)
{
	NEED(e, sb && given && ret);
	struct atoll_watch_spec spec;

	if (check(given, &spec, e) < 0)
		return -e->no;
	autojson json_t *body = json_pack("{s:s,s:b}", "path", spec.path, "recursive", spec.recursive), *answer = NULL;
	if (rpc_call(sb, spec.as_user, "/filesystem.Filesystem/CreateWatcher", body, &answer, e) < 0)
		return -e->no;
	struct atoll_watcher *w = calloc(1, sizeof(*w));

	if (w) {
		w->sb = sb;
		w->id = str_dup(str_of(json_text(answer, "watcherId")));
		w->as_user = spec.as_user ? str_dup(str_of(spec.as_user)) : NULL;
	}
	if (!w || !w->id || (spec.as_user && !w->as_user)) {
		atoll_watcher_free(w);
		return client_no_memory(e);
	}
	*ret = w;
	return 0;
}

int atoll_watcher_poll(struct atoll_watcher *w, atoll_on_change *on, void *user, struct atoll_error *e)
{
	NEED(e, w && on);
	autojson json_t *body = json_pack("{s:s}", "watcherId", w->id), *answer = NULL;
	json_t *ev;
	size_t i;
	int n = 0;

	if (rpc_call(w->sb, w->as_user, "/filesystem.Filesystem/GetWatcherEvents", body, &answer, e) < 0)
		return -e->no;
	json_array_foreach(json_object_get(answer, "events"), i, ev)
	{
		struct atoll_file_event one = { event_change(json_text(ev, "type")), json_text(ev, "name") };

		if (!one.change)
			continue;
		n++;
		if (on(user, &one) != 0)
			break;
	}
	return n;
}

void atoll_watcher_free(struct atoll_watcher *w)
{
	struct atoll_error e;

	if (!w)
		return;
	if (w->id) {
		autojson json_t *body = json_pack("{s:s}", "watcherId", w->id);

		/* On failure, the watcher lives until the sandbox ends. */
		(void)rpc_call(w->sb, w->as_user, "/filesystem.Filesystem/RemoveWatcher", body, NULL, &e);
	}
	free(w->id);
	free(w->as_user);
	free(w);
}
