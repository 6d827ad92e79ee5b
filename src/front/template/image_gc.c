/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/image_gc: one run at a time; further requests wait for the next run. */
#include "front/template/image_gc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandboxes.h"
#include "front/template/build_impl.h"
#include "front/template/builds.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define KEYS_MAX (4u << 20) /* bytes of text */
#define ANSWER_MAX 4096

struct asker {
	image_gc_fn *fn;
	void *user;
	bool all;
};

struct image_gc {
	struct builds *bs;
	struct warden_call *asked;
	struct stream *stream;
	struct buf keys, answer;
	struct asker *now, *next; /* requests for this run, and for the next */
	size_t n_now, n_next;
};

bool image_gc_busy(const struct builds *bs)
{
	return bs->image_gc != NULL;
}

static void gc_free(struct image_gc *g)
{
	warden_cancel(g->asked);
	stream_close(g->stream);
	buf_done(&g->keys);
	buf_done(&g->answer);
	free(g->now);
	free(g->next);
	free(g);
}

void image_gc_stop(struct builds *bs)
{
	if (bs->image_gc)
		gc_free(take_ptr(&bs->image_gc));
}

static void finish(struct image_gc *g, unsigned removed, const struct err *e)
{
	struct builds *bs = g->bs;
	struct asker *now = g->now, *next = g->next;
	size_t n_now = g->n_now, n_next = g->n_next;

	if (e)
		log_warn("cannot remove unused images", "err=%s", e->text);
	else if (removed)
		log_info("images removed", "count=%u", removed);
	g->now = g->next = NULL;
	bs->image_gc = NULL;
	gc_free(g);
	for (size_t i = 0; i < n_now; i++) {
		if (now[i].fn)
			now[i].fn(now[i].user, removed, e);
	}
	for (size_t i = 0; i < n_next; i++)
		image_gc(bs, next[i].all, next[i].fn, next[i].user);
	free(now);
	free(next);
}

static void fail(struct image_gc *g, int no, const char *text)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, no ? no : EIO, "%s", text);
	finish(g, 0, &e);
}

/* --- the answer of atoll-pull: one line ----------------------------------------------------------------------- */

static void on_data(void *user, struct str data)
{
	struct image_gc *g = user;
	autojson json_t *j = NULL;
	struct err e = ERR_INIT;

	buf_str(&g->answer, data);
	if (!g->answer.bad && !memchr(data.p, '\n', data.n))
		return;
	const char *why = NULL;

	if (g->answer.bad || json_read_object(buf_view(&g->answer), false, &j, &e) < 0 ||
	    json_get_str(j, "message", &why, &e) < 0)
		fail(g, EPROTO, "atoll-pull says something that nobody understands");
	else if (why)
		fail(g, (int)json_integer_value(json_object_get(j, "errno")), why);
	else
		finish(g, (unsigned)json_integer_value(json_object_get(j, "images")), NULL);
}

static void on_eof(void *user)
{
	fail(user, EIO, "atoll-pull ended without a word");
}

static void on_error(void *user, int no)
{
	fail(user, no, "the connection to atoll-pull broke");
}

static const struct stream_ops ops = { .on_data = on_data, .on_eof = on_eof, .on_error = on_error };

static void on_started(void *user, const struct warden_reply *re)
{
	struct image_gc *g = user;

	g->asked = NULL;
	if (re->no) {
		fd_close(re->fd);
		fail(g, re->no, re->text);
		return;
	}
	if (re->fd < 0 || fd_nonblock(re->fd, true) < 0 ||
	    !(g->stream = stream_new(g->bs->link->loop, re->fd, &ops, g))) {
		fail(g, ENOMEM, "connect to atoll-pull: out of memory");
		return;
	}
	stream_write(g->stream, buf_view(&g->keys));
	stream_read(g->stream, true);
}

/* --- images in use -------------------------------------------------------------------------------------------- */

static int on_key(void *user, const char *key)
{
	struct buf *keys = user;

	if (key[0])
		buf_fmt(keys, "%s\n", key);
	return 0;
}

static int list_keys(const struct builds *bs, struct buf *keys, struct err *e)
{
	const struct build *b;

	if (base_keys_each(bs->link->store, on_key, keys, e) < 0)
		return -e->no;
	TAILQ_FOREACH(b, &bs->list, link)
	(void)on_key(keys, b->base_key);
	buf_ch(keys, '\n');
	return keys->bad ? err_set(e, ENOMEM, "out of memory") : 0;
}

static bool is_fetching(const struct builds *bs)
{
	const struct build *b;

	TAILQ_FOREACH(b, &bs->list, link)
	{
		if (b->image)
			return true;
	}
	return false;
}

static void add_asker(struct asker **v, size_t *n, struct asker a)
{
	*v = must_grow(*v, (*n + 1) * sizeof **v);
	(*v)[(*n)++] = a;
}

void image_gc(struct builds *bs, bool all, image_gc_fn *fn, void *user)
{
	struct msg_pull m = { .what = PULL_COLLECT, .idle_s = all ? 0 : IMAGE_GC_IDLE_S };
	struct asker a = { fn, user, all };
	struct image_gc *g = bs->image_gc;
	struct err e = ERR_INIT;

	if (g && (fn || g->n_next == 0)) {
		add_asker(&g->next, &g->n_next, a);
		return;
	}
	if (g || is_fetching(bs)) {
		if (fn)
			fn(user, 0, NULL);
		return;
	}
	g = bs->image_gc = must_alloc(sizeof *g);
	*g = (struct image_gc) { .bs = bs, .keys = BUF_INIT(KEYS_MAX), .answer = BUF_INIT(ANSWER_MAX) };
	add_asker(&g->now, &g->n_now, a);
	if (list_keys(bs, &g->keys, &e) < 0)
		fail(g, e.no, e.text);
	else
		g->asked = warden_ask(bs->link->warden, OP_PULL, &m, sizeof m, on_started, g);
}

static int on_foreign_key(void *user, const char *key)
{
	struct builds *bs = user;

	for (size_t i = 0; i < bs->sandbox->templates.n; i++) {
		if (strcmp(bs->sandbox->templates.v[i].key, key) == 0)
			return 0;
	}
	return key[0] ? -EEXIST : 0;
}

void image_gc_begin(struct builds *bs)
{
	struct err e = ERR_INIT;

	if (base_keys_each(bs->link->store, on_foreign_key, bs, &e) == -EEXIST)
		image_gc(bs, false, NULL, NULL);
}
