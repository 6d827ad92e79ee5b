/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/image: image names that stand for templates of the server, and atoll-pull for all others. */
#include "front/template/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/template.h"
#include "front/template/builds.h"
#include "front/template/image_gc.h"
#include "front/util/mem.h"
#include "http/call.h"
#include "http/json.h"
#include "http/url.h"
#include "ipc/check.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "store/uploads.h"

#define LINE_MAX_ (16u << 20) /* a configuration has at most 4 MiB, and escaping makes it longer */
#define PIECE_MAX (4u << 20)
#define WAIT_MS 100      /* interval of checks whether images are being removed */
#define PROGRESS_MS 1000 /* interval of progress lines in the log */
#define MIB (1024.0 * 1024.0)

struct image_call {
	struct builds *bs;
	char *ref;
	char *login;                         /* the first line for atoll-pull */
	uint64_t upload, bytes, sent, piece; /* an archive sent after it */
	char *box, *path;                    /* sandbox and path of a file sent after it */
	struct http_call *file;
	struct timer *timer;
	struct warden_call *asked;
	struct stream *stream; /* to atoll-pull */
	struct buf line;
	json_t *config;
	uint64_t logged_ms;
	void (*log)(void *user, const char *line);
	void (*fn)(void *user, const struct image_result *re);
	void *user;
};

void image_cancel(struct image_call *c)
{
	if (!c)
		return;
	timer_free(c->timer);
	warden_cancel(c->asked);
	http_call_free(c->file);
	stream_close(c->stream); /* atoll-pull exits when it is closed */
	buf_done(&c->line);
	json_decref(c->config);
	if (c->login)
		explicit_bzero(c->login, strlen(c->login));
	free(c->login);
	free(c->box);
	free(c->path);
	free(c->ref);
	free(c);
}

/* Frees c and reports the result. */
static void finish(struct image_call *c, struct image_result *re)
{
	void (*fn)(void *user, const struct image_result *re) = c->fn;
	void *user = c->user;
	json_t *config = c->config;

	c->config = NULL;
	re->config = re->no ? NULL : config;
	image_cancel(c);
	fn(user, re);
	json_decref(config);
}

static void fail(struct image_call *c, int no, const char *text)
{
	autofree char *copy = must_dup(text); /* text may be part of what is freed */
	struct image_result re = { .no = no ? no : EIO, .text = copy };

	finish(c, &re);
}

/* --- messages of atoll-pull, see docs/images.md -------------------------------------------------------------- */

static void on_resolved(struct image_call *c, const json_t *j)
{
	const char *digest = json_string_value(json_object_get(j, "digest"));
	autofree char *line = str_fmt("%s is %.71s: %lld layers, %.1f MB", c->ref, digest ? digest : "?",
	    (long long)json_integer_value(json_object_get(j, "layers")),
	    (double)json_integer_value(json_object_get(j, "bytes")) / MIB);

	c->log(c->user, line ? line : c->ref);
}

static void on_progress(struct image_call *c, const json_t *j)
{
	const char *phase = json_string_value(json_object_get(j, "phase"));
	uint64_t now = clock_mono_ms();

	if (now - c->logged_ms < PROGRESS_MS)
		return;
	c->logged_ms = now;
	autofree char *line = str_fmt("layer %lld of %lld: %s %.1f of %.1f MB",
	    (long long)json_integer_value(json_object_get(j, "layer")),
	    (long long)json_integer_value(json_object_get(j, "layers")),
	    phase && strcmp(phase, "unpack") == 0 ? "unpacking" : "downloading",
	    (double)json_integer_value(json_object_get(j, "done")) / MIB,
	    (double)json_integer_value(json_object_get(j, "total")) / MIB);

	c->log(c->user, line ? line : c->ref);
}

static void on_done(struct image_call *c, const json_t *j)
{
	struct image_result re = { .fresh = true };
	const char *key = json_string_value(json_object_get(j, "key"));

	if (!key || !str_copy(re.key, sizeof re.key, str_of(key)) || !check_template_key(re.key)) {
		fail(c, EPROTO, "atoll-pull has brought something that is no image");
		return;
	}
	c->log(c->user,
	    json_is_true(json_object_get(j, "cached")) ? "the image was in the cache" : "the image is here");
	finish(c, &re);
}

static void on_error_event(struct image_call *c, const json_t *j)
{
	const char *why = json_string_value(json_object_get(j, "message"));
	autofree char *text = str_fmt("image '%.200s': %s", c->ref, why ? why : "it could not be had");

	fail(c, (int)json_integer_value(json_object_get(j, "errno")), text ? text : "out of memory");
}

/* Returns false if it was the last one and c has been freed. */
static bool on_line(struct image_call *c, struct str text)
{
	autojson json_t *j = NULL;
	const char *event = NULL;
	struct err e = ERR_INIT;

	if (json_read_object(text, false, &j, &e) < 0 || json_get_str(j, "event", &event, &e) < 0 || !event) {
		fail(c, EPROTO, "atoll-pull says something that nobody understands");
		return false;
	}
	if (strcmp(event, "resolved") == 0) {
		on_resolved(c, j);
	} else if (strcmp(event, "progress") == 0) {
		on_progress(c, j);
	} else if (strcmp(event, "config") == 0 && !c->config) {
		c->config = json_incref(json_object_get(j, "config"));
	} else if (strcmp(event, "done") == 0 || strcmp(event, "error") == 0) {
		event[0] == 'd' ? on_done(c, j) : on_error_event(c, j);
		return false;
	}
	return true;
}

static void on_data(void *user, struct str data)
{
	struct image_call *c = user;

	while (data.n) {
		struct str rest = data, part = str_cut(&rest, '\n');

		buf_str(&c->line, part);
		if (c->line.bad) {
			fail(c, EPROTO, "atoll-pull says more than it should");
			return;
		}
		if (!rest.p)
			return;
		if (!on_line(c, buf_view(&c->line)))
			return;
		buf_clear(&c->line);
		data = rest;
	}
}

static void on_eof(void *user)
{
	fail(user, EIO, "atoll-pull ended without a word");
}

static void on_stream_error(void *user, int no)
{
	fail(user, no, "the connection to atoll-pull broke");
}

/* Sends as much as the stream takes. If atoll-pull exits, its stream reports that, with the reason. */
static void push(void *user)
{
	struct image_call *c = user;
	struct err e = ERR_INIT;

	if (c->file)
		http_call_read(c->file, true);
	while (c->upload && c->sent < c->bytes && stream_queued(c->stream) < STREAM_HIGH) {
		autobuf struct buf piece = BUF_INIT(PIECE_MAX);

		if (uploads_read(c->bs->link->uploads, c->upload, c->piece++, &piece, &e) < 0) {
			fail(c, e.no == ENOENT ? EIO : e.no,
			    e.no == ENOENT ? "the archive is gone: build again" : e.text);
			return;
		}
		c->sent += piece.n;
		stream_write(c->stream, buf_view(&piece));
	}
}

/* --- a file of a sandbox, passed on to atoll-pull unread ------------------------------------------------------ */

static void on_file(void *user, const struct http_answer *a)
{
	struct image_call *c = user;
	char line[32];

	if (a->status != 200 || a->content_length < 0) {
		fail(c, EIO, "the archive cannot be read out of the sandbox that made it");
		return;
	}
	(void)snprintf(line, sizeof line, "%lld\n", (long long)a->content_length);
	stream_write(c->stream, str_of(line));
}

static void on_file_data(void *user, struct str data)
{
	struct image_call *c = user;

	stream_write(c->stream, data);
	if (stream_queued(c->stream) >= STREAM_HIGH)
		http_call_read(c->file, false);
}

static void on_file_end(void *user)
{
	struct image_call *c = user;

	http_call_free(take_ptr(&c->file));
}

static void on_file_error(void *user, int no)
{
	fail(user, no ? no : EIO, "the sandbox that made the archive broke off");
}

static const struct http_call_ops file_ops = { .on_answer = on_file,
	.on_data = on_file_data,
	.on_end = on_file_end,
	.on_error = on_file_error };

static void on_file_connected(void *user, const struct warden_reply *re)
{
	struct image_call *c = user;
	autobuf struct buf head = BUF_INIT(8192);

	c->asked = NULL;
	if (re->no) {
		fd_close(re->fd);
		fail(c, re->no, re->text);
		return;
	}
	c->file = http_call_new(c->bs->link->loop, re->fd, &file_ops, c);
	if (!c->file) {
		fail(c, ENOMEM, "out of memory");
		return;
	}
	buf_z(&head, "GET /files?username=root&path=");
	url_encode(&head, str_of(c->path));
	buf_z(&head, " HTTP/1.1\r\nHost: init\r\n\r\n");
	http_call_head(c->file, buf_view(&head), false, false);
}

static const struct stream_ops stream_ops = { .on_data = on_data,
	.on_eof = on_eof,
	.on_drain = push,
	.on_error = on_stream_error };

static void on_started(void *user, const struct warden_reply *re)
{
	struct image_call *c = user;

	c->asked = NULL;
	if (re->no) {
		fd_close(re->fd);
		fail(c, re->no, re->text);
		return;
	}
	if (re->fd < 0 || fd_nonblock(re->fd, true) < 0 ||
	    !(c->stream = stream_new(c->bs->link->loop, re->fd, &stream_ops, c))) {
		fail(c, ENOMEM, "connect to atoll-pull: out of memory");
		return;
	}
	stream_read(c->stream, true);
	if (c->box) {
		c->asked = warden_ask_id(c->bs->link->warden, OP_CONNECT, c->box, "", on_file_connected, c);
		return;
	}
	stream_write(c->stream, str_of(c->login));
	push(c);
}

/* --- names --------------------------------------------------------------------------------------------------- */

/* "docker.io/library/ubuntu:latest" becomes "ubuntu". */
static struct str plain_name(const char *ref)
{
	static const char *const heads[] = { "docker.io/", "index.docker.io/", "library/" };
	struct str s = str_of(ref);

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		if (str_starts(s, heads[i]))
			str_skip(&s, strlen(heads[i]));
	}
	if (str_ends(s, ":latest"))
		s.n -= strlen(":latest");
	return s;
}

/* "NAME=TEMPLATE,NAME=TEMPLATE" */
static bool find_mapped(const char *map, struct str name, struct str *ret)
{
	struct str rest = str_of(map ? map : "");

	while (rest.p && rest.n) {
		struct str to = str_cut(&rest, ',');
		struct str from = str_trim(str_cut(&to, '='));

		if (to.p && str_eq(from, name)) {
			*ret = str_trim(to);
			return true;
		}
	}
	return false;
}

static void use_template(struct image_call *c, struct str name)
{
	struct image_result re = { 0 };
	const struct template *tp = NULL;
	struct err e = ERR_INIT;

	if (templates_find(&c->bs->sandbox->templates, name, &tp, &e) < 0) {
		fail(c, e.no, e.text);
		return;
	}
	memcpy(re.key, tp->key, sizeof re.key);
	finish(c, &re);
}

static void begin(void *user)
{
	struct image_call *c = user;
	struct msg_pull m = { 0 };
	struct str name;

	if (c->upload || c->box) {
		m.what = PULL_UPLOAD;
	} else if (find_mapped(c->bs->link->opt.image_map, plain_name(c->ref), &name)) {
		use_template(c, name);
		return;
	}
	if (m.what == PULL_IMAGE && (!str_copy(m.ref, sizeof m.ref, str_of(c->ref)) || !check_image_ref(m.ref))) {
		autofree char *text = str_fmt("'%.200s' is not the name of an image", c->ref);

		fail(c, EINVAL, text ? text : "not the name of an image");
		return;
	}
	if (image_gc_busy(c->bs)) {
		timer_arm(c->timer, WAIT_MS);
		return;
	}
	c->asked = warden_ask(c->bs->link->warden, OP_PULL, &m, sizeof m, on_started, c);
}

struct image_call *image_get(struct builds *bs, const struct image_source *from,
    void (*log)(void *user, const char *line), void (*fn)(void *user, const struct image_result *re), void *user)
{
	struct image_call *c = must_alloc(sizeof *c);
	autobuf struct buf login = BUF_INIT(1u << 20);

	*c = (struct image_call) {
		.bs = bs,
		.ref = must_dup(from->ref),
		.upload = from->upload,
		.bytes = from->bytes,
		.box = from->box ? must_dup(from->box) : NULL,
		.path = from->path ? must_dup(from->path) : NULL,
		.line = BUF_INIT(LINE_MAX_),
		.log = log,
		.fn = fn,
		.user = user,
	};
	if (from->upload)
		buf_fmt(&login, "%llu%s%s", (unsigned long long)from->bytes, from->name ? " " : "",
		    from->name ? from->name : "");
	else if (from->registry)
		json_put(&login, from->registry);
	else
		buf_z(&login, "{}");
	buf_ch(&login, '\n');
	c->login = must_dup_str(buf_view(&login));
	if (login.p)
		explicit_bzero(login.p, login.n);
	c->timer = timer_new(bs->link->loop, begin, c);
	timer_arm(c->timer, 0);
	return c;
}
