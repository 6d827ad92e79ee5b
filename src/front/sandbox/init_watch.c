/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/init_watch: reads GET /atoll/events from init, a response that lasts as long as the connection. */
#include "front/sandbox/init_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/record/logbook.h"
#include "front/record/records.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/util/mem.h"
#include "http/call.h"
#include "http/json.h"
#include "loop/loop.h"

#define LINE_MAX_BYTES 4096
#define SYNC_MS 2000
#define NOTES_MAX 10 /* notes from init itself, per NOTES_MS */
#define NOTES_MS 60000
#define USE_EVERY_MS 1000

struct waiter {
	LIST_ENTRY(waiter) link;
	void (*fn)(void *user);
	void *user;
};

struct init_watch {
	struct sandbox *sb;
	struct sandbox_link link;
	struct warden_call *connecting;
	struct http_call *call;
	struct timer *timer;         /* set while there are waiters */
	LIST_HEAD(, waiter) waiters; /* woken when init has sent its backlog */
	TAILQ_ENTRY(init_watch) used;
	struct buf line; /* the incomplete line */
	bool caught_up;
	bool reused; /* the connection has served other requests before */
	bool answered;
};

static void wake(struct init_watch *w)
{
	struct waiter *wt;

	while ((wt = LIST_FIRST(&w->waiters))) {
		LIST_REMOVE(wt, link);
		wt->fn(wt->user);
		free(wt);
	}
	timer_free(take_ptr(&w->timer));
}

static void watch_done(struct init_watch *w)
{
	struct sandboxes *all = w->sb->all;

	w->sb->watch = NULL;
	sandbox_detach(&w->link);
	warden_cancel(w->connecting);
	http_call_free(w->call);
	TAILQ_REMOVE(&all->watches, w, used);
	all->n_watches--;
	wake(w);
	buf_done(&w->line);
	free(w);
}

/* --- events --- */

static uint64_t key_of(struct str line)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < line.n; i++)
		h = (h ^ (uint8_t)line.p[i]) * 1099511628211u;
	return h;
}

/* Returns whether the event is in the log already, and marks it as logged. */
static bool is_known(struct event_mark *m, uint64_t at_ms, uint64_t key)
{
	if (at_ms < m->at_ms)
		return true;
	if (at_ms > m->at_ms)
		*m = (struct event_mark) { .at_ms = at_ms, .known = true };
	for (unsigned i = 0; i < m->n_keys; i++) {
		if (m->keys[i] == key)
			return true;
	}
	if (m->n_keys < EVENT_KEYS)
		m->keys[m->n_keys++] = key;
	return false;
}

/* Writes a note from init to the server's log. The rate is limited, so that a compromised sandbox cannot fill the
 * log: notes beyond NOTES_MAX a minute are only counted. */
static void take_note(struct sandbox *sb, const char *text)
{
	uint64_t now_ms = clock_mono_ms();

	if (now_ms - sb->notes.since_ms > NOTES_MS) {
		if (sb->notes.n > NOTES_MAX)
			log_warn("init sent more notes than the limit", "id=%s left_out=%u", sb->id,
			    sb->notes.n - NOTES_MAX);
		sb->notes.since_ms = now_ms;
		sb->notes.n = 0;
	}
	if (++sb->notes.n <= NOTES_MAX)
		log_warn("note from init", "id=%s text='%.160s'", sb->id, text ? text : "");
}

/* {"at":ms, "message":"...", "fields":{...}}; lines of any other form are ignored. */
static void take_event(struct init_watch *w, struct str line)
{
	autojson json_t *ev = NULL;
	struct journal_entry en = { .level = LOG_LVL_INFO, .kind = JOURNAL_PROCESS };
	char mark[64];
	struct err e;
	const char *name;
	json_t *v;

	if (json_read_object(line, false, &ev, &e) < 0)
		return;

	const char *message = json_string_value(json_object_get(ev, "message"));
	json_int_t at = json_integer_value(json_object_get(ev, "at"));
	uint64_t key = key_of(line);

	if (!message || at <= 0)
		return;
	if (is_known(&w->sb->events, (uint64_t)at, key) && !w->caught_up)
		return;
	if (json_is_true(json_object_get(ev, "own"))) {
		take_note(w->sb, json_string_value(json_object_get(json_object_get(ev, "fields"), "text")));
		return;
	}
	en.at_ms = (uint64_t)at;
	en.message = str_of(message);
	(void)snprintf(mark, sizeof mark, "%llu.%llx", (unsigned long long)at, (unsigned long long)key);
	en.fields[en.n_fields].name = STR_LIT(LOG_MARK);
	en.fields[en.n_fields++].value = str_of(mark);
	json_object_foreach(json_object_get(ev, "fields"), name, v)
	{
		if (!json_is_string(v) || en.n_fields == JOURNAL_FIELDS_MAX || name[0] == LOG_MARK[0])
			continue;
		en.fields[en.n_fields].name = str_of(name);
		en.fields[en.n_fields++].value = str_of(json_string_value(v));
	}
	sandbox_note_entry(w->sb, &en);
}

static void on_data(void *user, struct str data)
{
	struct init_watch *w = user;

	while (data.n) {
		struct str rest = data, part = str_cut(&rest, '\n');

		buf_str(&w->line, part);
		if (!rest.p)
			return; /* the rest of the line is still to come */
		if (w->line.n == 0 && !w->line.bad && !w->caught_up) {
			w->caught_up = true;
			wake(w);
		} else if (!w->line.bad) {
			take_event(w, buf_view(&w->line));
		}
		buf_done(&w->line);
		w->line = BUF_INIT(LINE_MAX_BYTES);
		data = rest;
	}
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct init_watch *w = user;

	w->answered = true;
	if (a->status != 200)
		watch_done(w);
}

static void on_end(void *user)
{
	watch_done(user);
}

static void on_connected(void *user, const struct warden_reply *re);

static void on_error(void *user, int no)
{
	struct init_watch *w = user;

	(void)no;
	if (!w->reused || w->answered) {
		watch_done(w);
		return;
	}
	http_call_free(take_ptr(&w->call)); /* init has just closed this idle connection: retry on a new one */
	w->reused = false;
	w->connecting = box_connect(&w->sb->box, "", on_connected, w);
}

static const struct http_call_ops ops = { .on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
	.on_error = on_error };

/* --- begin and end --- */

/* After a restart of the front: finds the newest events in the stored log. */
static void learn_mark(struct sandbox *sb)
{
	struct journal j = { 0 };
	char room[JOURNAL_ENTRY_MAX];
	struct journal_entry en;
	struct err e;
	size_t pos = 0;

	sb->events.known = true;
	if (logbook_read(sb->all->record->logbook, str_of(sb->id), sb->team, &j, &e) < 0)
		return;
	while (journal_next(&j, &pos, room, &en)) {
		unsigned long long at, key;

		if (en.kind == JOURNAL_PROCESS && en.n_fields > 0 && str_is(en.fields[0].name, LOG_MARK) &&
		    sscanf(en.fields[0].value.p, "%llu.%llx", &at, &key) == 2)
			(void)is_known(&sb->events, at, key);
	}
	journal_done(&j);
}

static void listen_on(struct init_watch *w, int fd)
{
	w->call = http_call_new(w->sb->all->link->loop, fd, &ops, w);
	if (w->call)
		http_call_head(w->call, STR_LIT("GET /atoll/events HTTP/1.1\r\nHost: init\r\n\r\n"), false, false);
	else
		watch_done(w);
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct init_watch *w = user;

	w->connecting = NULL;
	if (re->no)
		watch_done(w);
	else
		listen_on(w, re->fd);
}

/* Reads what has arrived first: if the sandbox is being killed, there is no second chance. */
static void watch_end(struct init_watch *w)
{
	struct sandbox *sb = w->sb;

	if (w->call)
		http_call_pull(w->call);
	if (sb->watch == w)
		watch_done(w);
}

static void on_broken(struct sandbox_link *l, struct sandbox *sb)
{
	(void)sb;
	watch_end(container_of(l, struct init_watch, link));
}

static void watch_begin(struct sandbox *sb)
{
	struct sandboxes *all = sb->all;
	struct init_watch *w = must_alloc(sizeof *w);

	if (!sb->events.known)
		learn_mark(sb);
	if (all->n_watches >= links_max_watches(all->link))
		watch_end(TAILQ_LAST(&all->watches, watch_list));
	w->sb = sb;
	w->link.broken = on_broken;
	w->line = BUF_INIT(LINE_MAX_BYTES);
	LIST_INIT(&w->waiters);
	TAILQ_INSERT_HEAD(&all->watches, w, used);
	all->n_watches++;
	sb->watch = w;
	sandbox_attach(sb, &w->link);

	int fd = sandbox_idle_take_fd(sb);

	w->reused = fd >= 0;
	if (fd >= 0)
		listen_on(w, fd);
	else
		w->connecting = box_connect(&sb->box, "", on_connected, w);
}

void init_watch_use(struct sandbox *sb)
{
	struct sandboxes *all = sb->all;

	if (sb->state != SANDBOX_RUNNING)
		return;
	if (all->away) { /* it decides which watch is the least recently used: seconds are exact enough */
		if (loop_now_ms(all->link->loop) - sb->used_ms >= USE_EVERY_MS) {
			sb->used_ms = loop_now_ms(all->link->loop);
			all->away->use(all->away_user, sb);
		}
		return;
	}
	if (!sb->watch) {
		watch_begin(sb);
	} else if (TAILQ_FIRST(&all->watches) != sb->watch) {
		TAILQ_REMOVE(&all->watches, sb->watch, used);
		TAILQ_INSERT_HEAD(&all->watches, sb->watch, used);
	}
}

void init_watch_end(struct sandbox *sb)
{
	if (sb->watch)
		watch_end(sb->watch);
}

static void on_late(void *user)
{
	struct init_watch *w = user;

	wake(w);
}

void init_watch_sync(struct sandbox *sb, void (*fn)(void *user), void *user)
{
	init_watch_use(sb);

	struct init_watch *w = sb->watch;

	if (w && w->call && w->caught_up)
		http_call_pull(w->call);
	if (!sb->watch || w->caught_up) {
		fn(user);
		return;
	}

	struct waiter *wt = must_alloc(sizeof *wt);

	*wt = (struct waiter) { .fn = fn, .user = user };
	LIST_INSERT_HEAD(&w->waiters, wt, link);
	if (!w->timer)
		w->timer = timer_new(sb->all->link->loop, on_late, w);
	if (w->timer)
		timer_arm(w->timer, SYNC_MS);
}
