/* SPDX-License-Identifier: Apache-2.0 */
/* watch_rpc: the filesystem.Filesystem calls that watch, as a stream or polled. */
#include "init/files/watch_rpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/rand.h"
#include "http/json.h"
#include "init/call.h"
#include "init/files/entry.h"
#include "init/files/watcher.h"
#include "init/init.h"
#include "init/text.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define POLLED_EVENTS_MAX 20000 /* queued in one watcher; beyond that the watcher fails */
#define ID_CHARS 20
#define BATCH_ENOUGH (64 * 1024) /* bytes that are sent at once */
#define BATCH_KEEP 4096          /* memory that an idle watcher may keep */

struct ask { /* a validated request */
	char *path;
	bool recursive, with_entry;
};

static void ask_cleanup(struct ask *a)
{
	free(a->path);
}

static bool on_network(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return false;
	switch ((unsigned long)fs.f_type & 0xffffffffUL) {
	case 0x6969:     /* NFS */
	case 0xff534d42: /* CIFS */
	case 0x517b:     /* SMB */
	case 0xfe534d42: /* SMB2 */
	case 0x65735546: /* FUSE */
		return true;
	default:
		return false;
	}
}

/* protobuf's JSON allows both spellings. */
static int get_flag(const json_t *msg, const char *camel, const char *snake, bool *ret, struct err *e)
{
	return json_get_bool(msg, json_object_get(msg, snake) ? snake : camel, ret, e);
}

static int get_ask(struct call *c, const json_t *msg, struct ask *ret)
{
	struct err e = ERR_INIT;
	bool network = false;
	struct stat st;

	if (json_get_bool(msg, "recursive", &ret->recursive, &e) < 0 ||
	    get_flag(msg, "includeEntry", "include_entry", &ret->with_entry, &e) < 0 ||
	    get_flag(msg, "allowNetworkMounts", "allow_network_mounts", &network, &e) < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "%s", e.text);
		return -EINVAL;
	}
	if (call_path(c, msg, "path", &ret->path) < 0)
		return -EINVAL;
	if (stat(ret->path, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			call_fail(c, CONNECT_NOT_FOUND, "path %s not found: stat %s: %s", ret->path, ret->path,
			    text_errno(errno));
		else
			call_fail(c, CONNECT_INTERNAL, "error statting path %s: %s", ret->path, text_errno(errno));
		return -ENOENT;
	}
	if (!S_ISDIR(st.st_mode)) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "path %s not a directory", ret->path);
		return -ENOTDIR;
	}
	if (!network && on_network(ret->path)) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "cannot watch path on network filesystem: %s", ret->path);
		return -EINVAL;
	}
	return 0;
}

static void fail_new(struct call *c, const char *path, int rc)
{
	if (rc == -EUSERS)
		call_fail(c, CONNECT_RESOURCE_EXHAUSTED, "too many watchers: at most %d", WATCHERS_MAX);
	else
		call_fail(c, CONNECT_INTERNAL, "error adding path %s to watcher: %s", path, text_errno(-rc));
}

/* {name,type,entry?}; the entry only for event types after which the file should still exist. */
static json_t *event_json(const char *type, const char *name, const char *path, bool with_entry)
{
	json_t *o = json_object(), *entry;

	(void)json_object_set_new(o, "name", text_json(str_of(name)));
	(void)json_object_set_new(o, "type", json_string(type));
	if (with_entry && strcmp(type, "EVENT_TYPE_REMOVE") != 0 && strcmp(type, "EVENT_TYPE_RENAME") != 0) {
		autousers struct userdb db = { 0 };

		userdb_load(&db);
		if (entry_read(path, path, &db, false, &entry) == 0)
			(void)json_object_set_new(o, "entry", entry);
	}
	return o;
}

/* Streams. */

struct stream_watch {
	struct call *c;
	struct watcher *w;
	struct timer *keepalive, *deadline;
	uint64_t keepalive_ms;
	bool with_entry;
	struct buf batch; /* events that were read together, as envelopes, and are sent together */
};

static void stream_watch_free(struct stream_watch *sw)
{
	sw->c->on_gone = NULL;
	sw->c->on_drain = NULL;
	watcher_free(sw->w);
	timer_free(sw->keepalive);
	timer_free(sw->deadline);
	buf_done(&sw->batch);
	free(sw);
}

static void send_mark(struct call *c, const char *name)
{
	autojson json_t *msg = json_pack("{s:{}}", name);

	call_send(c, msg);
}

static void send_batch(struct stream_watch *sw)
{
	if (sw->batch.n)
		call_send_raw(sw->c, buf_view(&sw->batch));
	buf_clear(&sw->batch);
	if (sw->batch.cap > BATCH_KEEP)
		buf_done(&sw->batch);
}

static void on_event(void *user, const char *type, const char *name, const char *path)
{
	struct stream_watch *sw = user;
	autojson json_t *msg = json_pack("{s:o}", "filesystem", event_json(type, name, path, sw->with_entry));

	call_put(sw->c, &sw->batch, msg);
	if (sw->batch.n > BATCH_ENOUGH)
		send_batch(sw);
}

static void on_batch(void *user)
{
	struct stream_watch *sw = user;

	send_batch(sw);
	timer_arm(sw->keepalive, sw->keepalive_ms);
	if (call_queued(sw->c) > STREAM_HIGH)
		watcher_pause(sw->w, true);
}

static void on_error(void *user, const char *why)
{
	struct stream_watch *sw = user;
	struct call *c = sw->c;

	send_batch(sw); /* events before the error */
	stream_watch_free(sw);
	call_fail(c, CONNECT_INTERNAL, "watcher error: %s", why);
}

static const struct watcher_ops stream_ops = { .on_event = on_event, .on_batch = on_batch, .on_error = on_error };

static void on_keepalive(void *user)
{
	struct stream_watch *sw = user;

	send_mark(sw->c, "keepalive");
	timer_arm(sw->keepalive, sw->keepalive_ms);
}

static void on_deadline(void *user)
{
	struct stream_watch *sw = user;
	struct call *c = sw->c;

	stream_watch_free(sw);
	call_fail(c, CONNECT_DEADLINE_EXCEEDED, "context deadline exceeded");
}

static void on_gone(struct call *c)
{
	stream_watch_free(c->state);
}

static void on_drain(struct call *c)
{
	watcher_pause(((struct stream_watch *)c->state)->w, false);
}

void watch_dir(struct call *c, json_t *msg)
{
	__attribute__((cleanup(ask_cleanup))) struct ask ask = { 0 };
	struct stream_watch *sw;
	uint64_t timeout_ms;
	int rc = -ENOMEM;

	if (call_timeout_ms(c, &timeout_ms) < 0 || get_ask(c, msg, &ask) < 0)
		return;
	sw = calloc(1, sizeof(*sw));
	if (!sw) {
		fail_new(c, ask.path, -ENOMEM);
		return;
	}
	*sw = (struct stream_watch) { .c = c,
		.keepalive_ms = call_keepalive_ms(c),
		.with_entry = ask.with_entry,
		.batch = BUF_INIT(CALL_REPLY_MAX) };
	sw->keepalive = timer_new(c->in->loop, on_keepalive, sw);
	sw->deadline = timer_new(c->in->loop, on_deadline, sw);
	if (sw->keepalive && sw->deadline)
		rc = watcher_new(c->in, ask.path, ask.recursive, &stream_ops, sw, &sw->w);
	if (rc < 0) {
		stream_watch_free(sw);
		fail_new(c, ask.path, rc);
		return;
	}
	c->state = sw;
	c->on_gone = on_gone;
	c->on_drain = on_drain;
	send_mark(c, "start");
	timer_arm(sw->keepalive, sw->keepalive_ms);
	if (timeout_ms)
		timer_arm(sw->deadline, timeout_ms);
}

/* Polled watchers. */

struct polled {
	struct polled *next;
	char id[ID_CHARS + 2];
	struct watcher *w;
	json_t *events;
	char *error; /* why the watcher failed, or NULL */
	bool with_entry;
};

static void on_polled_error(void *user, const char *why)
{
	struct polled *p = user;

	if (!p->error)
		p->error = strdup(why);
	watcher_free(take_ptr(&p->w));
}

static void on_polled_event(void *user, const char *type, const char *name, const char *path)
{
	struct polled *p = user;

	if (json_array_size(p->events) >= POLLED_EVENTS_MAX)
		on_polled_error(p, "too many events are waiting");
	else
		(void)json_array_append_new(p->events, event_json(type, name, path, p->with_entry));
}

static const struct watcher_ops polled_ops = { .on_event = on_polled_event, .on_error = on_polled_error };

static void polled_free(struct polled *p)
{
	watcher_free(p->w);
	json_decref(p->events);
	free(p->error);
	free(p);
}

void watch_create(struct call *c, json_t *msg)
{
	__attribute__((cleanup(ask_cleanup))) struct ask ask = { 0 };
	autojson json_t *reply = NULL;
	struct polled *p;
	int rc;

	if (get_ask(c, msg, &ask) < 0)
		return;
	p = calloc(1, sizeof(*p));
	if (!p) {
		fail_new(c, ask.path, -ENOMEM);
		return;
	}
	p->events = json_array();
	p->with_entry = ask.with_entry;
	p->id[0] = 'w';
	rand_label(p->id + 1, ID_CHARS);
	rc = watcher_new(c->in, ask.path, ask.recursive, &polled_ops, p, &p->w);
	if (rc < 0) {
		polled_free(p);
		fail_new(c, ask.path, rc);
		return;
	}
	p->next = c->in->watchers.polled;
	c->in->watchers.polled = p;
	reply = json_pack("{s:s}", "watcherId", p->id);
	call_reply(c, reply);
}

/* The link to the watcher that the message names, or NULL and the call has failed. */
static struct polled **find(struct call *c, const json_t *msg)
{
	struct polled **at = &c->in->watchers.polled;
	struct err e = ERR_INIT;
	const char *id = "";

	if (json_get_str(msg, json_object_get(msg, "watcher_id") ? "watcher_id" : "watcherId", &id, &e) < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "%s", e.text);
		return NULL;
	}
	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (*at)
		return at;
	call_fail(c, CONNECT_NOT_FOUND, "watcher with id %.100s not found", id);
	return NULL;
}

void watch_events(struct call *c, json_t *msg)
{
	struct polled **at = find(c, msg);
	autojson json_t *reply = NULL;

	if (!at)
		return;
	if ((*at)->w) /* so that the answer includes what the client did before the call */
		watcher_settle((*at)->w);
	if ((*at)->error) {
		call_fail(c, CONNECT_INTERNAL, "watcher error: %s", (*at)->error);
		return;
	}
	reply = json_pack("{s:o}", "events", (*at)->events);
	(*at)->events = json_array();
	call_reply(c, reply);
}

void watch_remove(struct call *c, json_t *msg)
{
	struct polled **at = find(c, msg), *p;

	if (!at)
		return;
	p = *at;
	*at = p->next;
	polled_free(p);
	call_reply_empty(c);
}
