/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build: the queue, the base, the log, the end. */
#include "front/template/build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/warm_pool.h"
#include "front/template/build_impl.h"
#include "front/template/builds.h"
#include "front/template/image.h"
#include "front/template/image_gc.h"
#include "front/template/recipe.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "loop/loop.h"
#include "store/uploads.h"

#define RUNNING_MAX 4 /* at the same time; the others wait */
#define LOG_ENTRIES_MAX 20000
#define LOG_LINE_MAX 4096
#define MIB (1024 * 1024ull)

/* --- the log ------------------------------------------------------------------------------------------------ */

static void log_entry(struct build *b, const char *level, const char *text)
{
	struct build_log l = { .at_ms = clock_wall_ms(), .level = level, .step = b->phase, .message = text };
	struct err e;

	if (b->logged == LOG_ENTRIES_MAX)
		l.message = "more output than is kept: the rest is left out";
	if (b->logged > LOG_ENTRIES_MAX && strcmp(level, "error") != 0)
		return;
	b->logged++;
	if (build_logs_add(b->bs->link->store, b->row.id, &l, &e) < 0)
		log_warn("cannot write the log of a build", "build=%s err=%s", b->row.id, e.text);
}

void build_log(struct build *b, const char *level, const char *fmt, ...)
{
	char text[LOG_LINE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	log_entry(b, level, text);
}

/* The text comes from a sandbox: only UTF-8 can be represented in JSON. */
static void log_line(struct build *b, bool is_stderr, const struct buf *line)
{
	struct str s = str_trim(buf_view(line));
	autojson json_t *whole = NULL;

	while (s.n && s.p[s.n - 1] == '\r')
		s.n--;
	if (!s.n)
		return;
	whole = json_stringn(s.p, s.n);
	if (whole && !memchr(s.p, '\0', s.n)) {
		build_log(b, "info", "[%s] [%s]: %s", b->label, is_stderr ? "stderr" : "stdout",
		    json_string_value(whole));
		return;
	}
	autofree char *plain = must_dup_str(s);

	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)plain[i] < 0x20 || (unsigned char)plain[i] >= 0x7f)
			plain[i] = '?';
	}
	build_log(b, "info", "[%s] [%s]: %s", b->label, is_stderr ? "stderr" : "stdout", plain);
}

void build_output(struct build *b, bool is_stderr, struct str data)
{
	struct buf *line = is_stderr ? &b->lines.err : &b->lines.out;

	while (data.n) {
		struct str rest = data, part = str_cut(&rest, '\n');
		size_t room = line->max - line->n;

		buf_str(line, part.n < room ? part : (struct str) { part.p, room });
		if (!rest.p)
			return;
		log_line(b, is_stderr, line);
		buf_clear(line);
		data = rest;
	}
}

void build_output_end(struct build *b)
{
	log_line(b, false, &b->lines.out);
	log_line(b, true, &b->lines.err);
	buf_clear(&b->lines.out);
	buf_clear(&b->lines.err);
}

void build_phase(struct build *b, const char *phase)
{
	(void)str_copy(b->phase, sizeof b->phase, str_of(phase));
}

/* --- the end ------------------------------------------------------------------------------------------------ */

static void next_in_line(struct builds *bs);

static void build_free(struct build *b)
{
	build_box_end(b);
	image_cancel(b->image);
	timer_free(b->timer);
	timer_free(b->deadline);
	json_decref(b->image_env);
	json_decref(b->base_env);
	json_decref(b->env);
	json_decref(b->homes);
	buf_done(&b->lines.out);
	buf_done(&b->lines.err);
	buf_done(&b->facts);
	build_spec_done(&b->spec);
	free(b->keys);
	free(b);
}

static void build_end(struct build *b)
{
	struct builds *bs = b->bs;
	struct err e = ERR_INIT;
	struct gc_result gone;

	b->row.finished_ms = clock_wall_ms();
	if (builds_put(bs->link->store, &b->row, &e) < 0)
		log_error("cannot record the end of a build", "build=%s err=%s", b->row.id, e.text);
	log_info("build ended", "build=%s template=%s status=%s step=%s", b->row.id, b->row.template_id, b->row.status,
	    b->row.step);
	TAILQ_REMOVE(&bs->list, b, link);
	build_free(b);
	if (builds_gc(bs, bs->link->opt.template_cache_mb * MIB, &gone, &e) < 0)
		log_warn("cannot remove unused layers of builds", "err=%s", e.text);
	image_gc(bs, false, NULL, NULL);
	next_in_line(bs);
}

void build_fail(struct build *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(b->row.reason, sizeof b->row.reason, fmt, ap);
	va_end(ap);
	build_output_end(b);
	(void)str_copy(b->row.status, sizeof b->row.status, STR_LIT("error"));
	(void)str_copy(b->row.step, sizeof b->row.step, str_of(b->phase));
	build_log(b, "error", "Build failed: %s", b->row.reason);
	build_end(b);
}

/* The client that has built it will probably start a sandbox soon. */
static void prime_warm_pool(const struct build *b)
{
	const struct build_row *r = &b->row;
	struct spec sp = { .from_what = r->what, .from_built = true };

	memcpy(sp.tpl.id, r->template_id, sizeof r->template_id);
	(void)str_copy(sp.tpl.name, sizeof sp.tpl.name, str_of(b->name));
	memcpy(sp.tpl.key, r->base_key, sizeof sp.tpl.key);
	memcpy(sp.from, r->kept, sizeof sp.from);
	catalog_limits(b->bs->sandbox, &sp.tpl, r, &sp.limits);
	warm_pool_prime(b->bs->sandbox->warm_pool, &sp);
}

void build_ready(struct build *b, const char *kept, uint32_t what)
{
	struct str rest = str_of(b->row.tags);
	struct err e = ERR_INIT;

	(void)str_copy(b->row.status, sizeof b->row.status, STR_LIT("ready"));
	(void)str_copy(b->row.base_key, sizeof b->row.base_key, str_of(b->base_key));
	(void)str_copy(b->row.kept, sizeof b->row.kept, str_of(kept));
	b->row.what = what;
	if (builds_put(b->bs->link->store, &b->row, &e) < 0) {
		build_fail(b, "%s", e.text);
		return;
	}
	while (rest.p) {
		struct tag_row tag = { .created_ms = clock_wall_ms() };

		(void)str_copy(tag.build, sizeof tag.build, str_of(b->row.id));
		if (str_copy(tag.tag, sizeof tag.tag, str_cut(&rest, ' ')) && tag.tag[0])
			(void)tags_put(b->bs->link->store, b->row.template_id, &tag, &e);
	}
	prime_warm_pool(b);
	build_log(b, "info", "Build finished, took %llds", (long long)(clock_wall_ms() - b->row.created_ms) / 1000);
	build_end(b);
}

void build_cancel(struct build *b, const char *why)
{
	build_fail(b, "%s", why);
}

/* --- the base ----------------------------------------------------------------------------------------------- */

/* Finds the longest prefix of the steps that has a layer. */
static void find_cached(struct build *b)
{
	struct builds *bs = b->bs;
	struct layer_row layer;
	struct err e;

	b->cached = 0;
	for (size_t i = 0; i < b->spec.n && !b->spec.force && !b->spec.steps[i].force; i++) {
		if (build_step_has_layer(&b->spec.steps[i])) {
			if (layers_find(bs->link->store, b->keys[i + 1], clock_wall_ms(), &layer, &e) < 0)
				return;
			memcpy(b->from, layer.kept, sizeof b->from);
		}
		b->cached = i + 1;
	}
}

static void make_keys(struct build *b)
{
	autobuf struct buf base = BUF_INIT(1024);

	buf_fmt(&base, "%s %s %s", b->row.team, b->base_key, b->base_from);
	b->keys = must_alloc((b->spec.n + 1) * sizeof *b->keys);
	build_layer_key(buf_cstr(&base), NULL, b->keys[0]);
	for (size_t i = 0; i < b->spec.n; i++)
		build_layer_key(b->keys[i], &b->spec.steps[i], b->keys[i + 1]);
	build_final_key(b->keys[b->spec.n], &b->spec, b->row.cpu_permille, b->row.mem_bytes, b->final_key);
}

static void say_cached(struct build *b)
{
	for (size_t i = 0; i < b->cached; i++) {
		autobuf struct buf label = BUF_INIT(1024);
		char phase[BUILD_STEP_SIZE];

		if (b->spec.steps[i].is_ours) {
			build_log(b, "info", "CACHED [base] packages of every image");
			continue;
		}
		size_t ours = build_spec_ours(&b->spec);

		(void)snprintf(phase, sizeof phase, "%zu", i + 1 - ours);
		build_phase(b, phase);
		build_step_label(&b->spec.steps[i], &label);
		build_log(b, "info", "CACHED [builder %zu/%zu] %.*s", i + 1 - ours, b->spec.n - ours,
		    STR_ARG(buf_view(&label)));
	}
}

static void on_box(struct build *b)
{
	struct err e = ERR_INIT;

	if (steps_replay(b, &e) < 0)
		build_fail(b, "%s", e.text);
	else
		steps_run(b);
}

void build_base_ready(struct build *b)
{
	struct layer_row layer;
	struct err e;

	memcpy(b->from, b->base_from, sizeof b->from);
	make_keys(b);
	find_cached(b);
	say_cached(b);
	if (b->cached == b->spec.n && !b->spec.force &&
	    layers_find(b->bs->link->store, b->final_key, clock_wall_ms(), &layer, &e) == 0) {
		build_phase(b, "finalize");
		build_log(b, "info", "CACHED [finalize]");
		build_ready(b, layer.kept, layer.what);
		return;
	}
	build_phase(b, "base");
	build_box_start(b, on_box);
}

static void take_image_env(struct build *b, const json_t *config)
{
	const json_t *list = json_object_get(config, "Env");
	json_t *v;
	size_t i;

	b->image_env = json_object();
	json_array_foreach((json_t *)list, i, v)
	{
		struct str value = str_of(json_string_value(v) ? json_string_value(v) : "");
		struct str name = str_cut(&value, '=');
		autofree char *z = must_dup_str(name);

		if (name.n && value.p)
			(void)json_object_set_new(b->image_env, z, json_stringn(value.p, value.n));
	}
}

static void on_image(void *user, const struct image_result *re)
{
	struct build *b = user;
	const json_t *trigger;
	size_t i;

	b->image = NULL;
	if (re->no) {
		build_fail(b, "%s", re->text);
		return;
	}
	memcpy(b->base_key, re->key, sizeof b->base_key);
	b->fresh = re->fresh;
	if (re->config)
		take_image_env(b, re->config);
	json_array_foreach(json_object_get(re->config, "OnBuild"), i, trigger)
	    build_log(b, "warn", "[base] ONBUILD of the image is not carried out: %.400s", json_string_value(trigger));
	if (re->fresh && b->spec.from_image && b->bs->link->opt.image_packages[0])
		build_spec_packages(&b->spec, b->bs->link->opt.image_packages);
	build_base_ready(b);
}

static void on_image_line(void *user, const char *line)
{
	build_log(user, "info", "[base] %s", line);
}

static void begin_upload(struct build *b)
{
	struct image_source from = { .ref = "the archive", .name = b->spec.upload_image };
	struct err e = ERR_INIT;

	build_log(b, "info", "[base] FROM an archive, %.12s", b->spec.from_upload);
	if (uploads_find(b->bs->link->uploads, b->row.team, b->spec.from_upload, clock_wall_ms(), &from.upload,
		&from.bytes, &e) < 0) {
		build_fail(b, e.no == ENOENT ? "the archive was not uploaded, or is gone: build again%s" : "%s",
		    e.no == ENOENT ? "" : e.text);
		return;
	}
	b->image = image_get(b->bs, &from, on_image_line, on_image, b);
}

static void begin(struct build *b)
{
	struct catalog_entry en;
	struct err e = ERR_INIT;

	b->running = true;
	build_phase(b, "base");
	timer_arm(b->deadline, b->bs->link->opt.build_timeout_s * 1000ull);
	for (size_t i = 0; i < b->spec.n; i++) {
		char phase[BUILD_STEP_SIZE];

		if (build_step_check(&b->spec.steps[i], &e) == 0)
			continue;
		(void)snprintf(phase, sizeof phase, "%zu", i + 1);
		build_phase(b, phase);
		build_fail(b, "%s", e.text);
		return;
	}
	if (b->spec.from_upload) {
		begin_upload(b);
		return;
	}
	if (b->spec.from_image && recipe_is(b->spec.from_image)) {
		build_recipe(b);
		return;
	}
	if (b->spec.from_image) {
		const struct image_source from = { .ref = b->spec.from_image, .registry = b->spec.registry };

		build_log(b, "info", "[base] FROM %s", b->spec.from_image);
		b->image = image_get(b->bs, &from, on_image_line, on_image, b);
		return;
	}
	build_log(b, "info", "[base] FROM template %s", b->spec.from_template);
	if (catalog_find(b->bs->sandbox, b->row.team, str_of(b->spec.from_template), &en, &e) < 0) {
		build_fail(b, "%s", e.text);
		return;
	}
	memcpy(b->base_key, en.tpl.key, sizeof b->base_key);
	memcpy(b->base_from, en.saved, sizeof b->base_from);
	build_base_ready(b);
}

/* --- the queue ---------------------------------------------------------------------------------------------- */

static void on_turn(void *user)
{
	begin(user);
}

/* From the loop, so that the client gets its answer first. */
static void next_in_line(struct builds *bs)
{
	unsigned running = 0;
	struct build *b;

	TAILQ_FOREACH(b, &bs->list, link)
	running += b->running;
	TAILQ_FOREACH(b, &bs->list, link)
	{
		if (b->running || running >= RUNNING_MAX)
			continue;
		b->running = true;
		running++;
		timer_arm(b->timer, 0);
	}
}

static void on_deadline(void *user)
{
	struct build *b = user;

	build_fail(b, "the build took longer than %u seconds", b->bs->link->opt.build_timeout_s);
}

static bool shares_tag(const char *a, const char *b)
{
	struct str rest = str_of(a);

	while (rest.p) {
		struct str one = str_cut(&rest, ' '), others = str_of(b);

		while (others.p) {
			if (str_eq(one, str_cut(&others, ' ')))
				return true;
		}
	}
	return false;
}

int build_begin(struct builds *bs, const struct build_row *row, const char *name, json_t *body, struct err *e)
{
	struct build_spec spec;
	struct build *other, *b;

	if (build_spec_parse(body, &spec, e) < 0)
		return -e->no;
	TAILQ_FOREACH(other, &bs->list, link)
	{
		if (strcmp(other->row.template_id, row->template_id) != 0 || !shares_tag(other->row.tags, row->tags))
			continue;
		build_spec_done(&spec);
		return err_set(e, EBUSY, "another build of '%s' with the same tag is under way: %s", name,
		    other->row.id);
	}
	b = must_alloc(sizeof *b);
	*b = (struct build) {
		.bs = bs,
		.row = *row,
		.spec = spec,
		.lines = { BUF_INIT(LOG_LINE_MAX / 2), BUF_INIT(LOG_LINE_MAX / 2) },
		.facts = BUF_INIT(1024 * 1024),
		.env = json_object(),
	};
	(void)str_copy(b->name, sizeof b->name, str_of(name));
	(void)str_copy(b->row.status, sizeof b->row.status, STR_LIT("building"));
	b->timer = timer_new(bs->link->loop, on_turn, b);
	b->deadline = timer_new(bs->link->loop, on_deadline, b);
	if (!b->timer || !b->deadline || builds_put(bs->link->store, &b->row, e) < 0) {
		build_free(b);
		return e->no ? -e->no : err_set(e, ENOMEM, "out of memory");
	}
	TAILQ_INSERT_TAIL(&bs->list, b, link);
	next_in_line(bs);
	return 0;
}

struct build *build_of(const struct builds *bs, const char *id)
{
	struct build *b;

	TAILQ_FOREACH(b, &bs->list, link)
	{
		if (strcmp(b->row.id, id) == 0)
			return b;
	}
	return NULL;
}

bool build_of_template(const struct builds *bs, const char *template_id)
{
	struct build *b;

	TAILQ_FOREACH(b, &bs->list, link)
	{
		if (strcmp(b->row.template_id, template_id) == 0)
			return true;
	}
	return false;
}

bool build_exited(struct builds *bs, const char *sandbox)
{
	struct build *b;

	TAILQ_FOREACH(b, &bs->list, link)
	{
		if (!box_present(&b->box) || strcmp(b->box.id, sandbox) != 0)
			continue;
		box_done(&b->box);
		box_exited(&b->box);
		build_fail(b, "the sandbox in which it is built has ended: it may have run out of memory (%llu MiB)",
		    (unsigned long long)(b->row.mem_bytes / MIB));
		return true;
	}
	return false;
}

void builds_stop(struct builds *bs)
{
	struct build *b;

	image_gc_stop(bs);
	while ((b = TAILQ_FIRST(&bs->list))) {
		TAILQ_REMOVE(&bs->list, b, link);
		build_free(b);
	}
}

/* --- saved states ------------------------------------------------------------------------------------------- */

struct load {
	bool (*is_saved)(void *user, const char *name, bool *ret_memory);
	void *user;
};

static int on_kept(void *user, const char *kept)
{
	struct load *l = user;
	bool memory;

	if (!l->is_saved(l->user, kept, &memory))
		log_warn("what was built is not there any more", "kept=%s", kept);
	return 0;
}

int builds_load(struct builds *bs, bool (*is_saved)(void *user, const char *name, bool *ret_memory), void *user,
    struct err *e)
{
	struct load l = { is_saved, user };

	if (builds_fail_all(bs->link->store, "the server was restarted while it was built", clock_wall_ms(), e) < 0)
		return -e->no;
	return kept_each(bs->link->store, on_kept, &l, e);
}

void build_release(struct builds *bs, const char *kept)
{
	struct err e = ERR_INIT;

	if (!kept[0] || kept_users(bs->link->store, kept, &e) != 0)
		return;
	warm_pool_forget(bs->sandbox->warm_pool, kept);
	saved_delete(bs->link, kept);
}

struct gc {
	struct layer_row *v;
	size_t n;
	uint64_t bytes;
};

static int on_layer(void *user, const struct layer_row *r)
{
	struct gc *g = user;

	g->v = must_grow(g->v, (g->n + 1) * sizeof *g->v);
	g->v[g->n++] = *r;
	g->bytes += r->bytes;
	return 0;
}

static bool is_in_use(const struct builds *bs, const char *kept)
{
	const struct build *b;

	TAILQ_FOREACH(b, &bs->list, link)
	{
		if (strcmp(b->from, kept) == 0)
			return true;
	}
	return false;
}

static int on_untagged(void *user, const char *kept)
{
	build_release(user, kept);
	return 0;
}

int builds_gc(struct builds *bs, uint64_t max_bytes, struct gc_result *ret, struct err *e)
{
	struct gc g = { 0 };
	int r = layers_each(bs->link->store, on_layer, &g, e);

	/* Builds without a tag can be used by id as long as there is room; the last layer of each is counted here. */
	if (r == 0 && (g.bytes > max_bytes || max_bytes == 0))
		r = builds_strip(bs->link->store, on_untagged, bs, e);
	*ret = (struct gc_result) { 0 };
	for (size_t i = 0; r == 0 && i < g.n && (g.bytes > max_bytes || max_bytes == 0); i++) {
		if (is_in_use(bs, g.v[i].kept))
			continue;
		r = layers_drop(bs->link->store, g.v[i].key, e);
		if (r < 0)
			break;
		build_release(bs, g.v[i].kept);
		g.bytes -= g.v[i].bytes;
		ret->layers++;
	}
	free(g.v);
	if (r < 0)
		return r;
	r = uploads_trim(bs->link->uploads, max_bytes ? bs->link->opt.template_uploads_mb * MIB : 0, e);
	ret->uploads = r > 0 ? (unsigned)r : 0;
	return r < 0 ? r : 0;
}
