/* SPDX-License-Identifier: Apache-2.0 */
/* atoll template build: builds a template from a Dockerfile or an image.
 *
 * Stages that other stages need are built first, as versions of the same template with temporary tags, which are
 * removed at the end. Files that a later stage copies from such a stage are read from a sandbox created from it. */
#include "cli/template/build.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/sandbox/pack.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/template/build_plan.h"
#include "cli/template/context.h"
#include "cli/template/dockerfile.h"

#define POLL_NS 200000000
#define SPEC_MAX (8 * 1024 * 1024)

struct building {
	struct atoll *a;
	const struct build_opts *o;
	struct plan plan;
	struct context context;
	struct archive image; /* the base image, if it is a local file */
	bool has_image;
	char **tags;  /* of the stages; NULL until a stage is built */
	char run[12]; /* identifies this build in the tags */
	struct progress progress;
	struct atoll_error e;
};

static int told(const struct building *b)
{
	return fail("%s", b->e.text);
}

/* --- uploads ------------------------------------------------------------------------------------------------------ */

struct sending {
	struct building *b;
	const struct archive *a;
	const char *what;
	uint64_t done;
};

static ssize_t give(void *user, void *p, size_t n)
{
	struct sending *s = user;
	ssize_t got = read(s->a->fd, p, n);

	if (got < 0)
		return -errno;
	s->done += (uint64_t)got;
	progress_part(&s->b->progress, s->what, s->done, s->a->bytes);
	return got;
}

static int send_archive(struct building *b, struct atoll_build *bd, const struct archive *a, const char *what)
{
	struct sending s = { b, a, what, 0 };
	int has = atoll_build_has(bd, a->hash, &b->e);

	if (has != 0)
		return has < 0 ? told(b) : 0;
	progress_part(&b->progress, what, 0, a->bytes);
	return atoll_build_send(bd, a->hash, a->bytes, give, &s, &b->e) < 0 ? told(b) : 0;
}

/* --- copies from another stage ------------------------------------------------------------------------------------ */

struct fetching {
	struct archive a;
	struct buf said;
	struct err e;
};

static int take(void *user, enum atoll_stream which, const void *p, size_t n)
{
	struct fetching *f = user;

	if (which == ATOLL_STDERR) {
		buf_put(&f->said, p, n);
		return 0;
	}
	return archive_put(&f->a, p, n, &f->e) < 0;
}

#define ONE "one: "

/* Returns tar's error output without the line that run_tar() added. */
static struct str reason(const struct fetching *f)
{
	struct str rest = buf_view(&f->said);

	if (str_starts(rest, ONE))
		(void)str_cut(&rest, '\n');
	return rest.p ? str_trim(rest) : STR_LIT("");
}

/* dir: the directory that the names in the archive are relative to. */
static int run_tar(struct building *b, struct atoll_sandbox *sb, const char *dir, const char *source,
    struct fetching *f)
{
	/* Patterns are expanded in the sandbox: words are not split, but file names are matched. If one file matches,
	 * its name is reported. */
	const char *argv[] = { "sh", "-c",
		"IFS=; cd \"/$2\" && set -- $1 && if [ $# = 1 ]; then echo \"" ONE
		"$1\" >&2; fi && tar -cf - -- \"$@\"",
		"copy", source, dir, NULL };
	struct atoll_command cmd = { .argv = argv, .as_user = "root", .cwd = "/" };
	struct atoll_process *p;
	int r;

	if (atoll_process_start(sb, &cmd, take, f, &p, &b->e) < 0)
		return told(b);
	while ((r = atoll_process_poll(p, NULL, 0, 1000, &b->e)) == 0)
		progress_tick(&b->progress);
	const struct atoll_exit *x = r == 1 ? atoll_process_exit(p) : NULL;
	int status = !x ? told(b) : x->code == 0 ? 0 : fail("copy '%s' from a stage: %.*s", source, STR_ARG(reason(f)));

	atoll_process_free(p);
	return status;
}

/* If run_tar() reported that a pattern matched a single file, puts that name into the step. */
static void note_single(const struct fetching *f, const char *source, json_t *step)
{
	struct str rest = buf_view(&f->said), line = str_cut(&rest, '\n');

	if (!strpbrk(source, "*?[") || !str_starts(line, ONE))
		return;
	str_skip(&line, sizeof ONE - 1);
	(void)json_array_set_new(json_object_get(step, "args"), 0, json_stringn(line.p, line.n));
}

static int fetch(struct building *b, const char *tag, const struct plan_copy *c, json_t *step, struct archive *ret)
{
	const char *pivot = c->parents ? strstr(c->source, "/./") : NULL, *source = pivot ? pivot + 3 : c->source;
	autofree char *dir = pivot ? str_dup((struct str) { c->source, (size_t)(pivot - c->source) }) : strdup("");
	struct atoll_spec spec = { .template_id = tag, .timeout_s = 600 };
	struct fetching f = { .said = BUF_INIT(4096) };
	struct atoll_sandbox *sb;

	if (!dir)
		return fail("out of memory");
	if (archive_begin(&f.a, &f.e) < 0)
		return fail("%s", f.e.text);
	if (atoll_sandbox_create(b->a, &spec, &sb, &b->e) < 0) {
		archive_done(&f.a);
		return told(b);
	}
	int status = run_tar(b, sb, dir, source, &f);
	struct atoll_error ignored;

	(void)atoll_kill(b->a, atoll_sandbox_id(sb), &ignored);
	atoll_sandbox_free(sb);
	if (!c->parents)
		note_single(&f, source, step);
	buf_done(&f.said);
	if (status == 0 && archive_finish(&f.a, &f.e) < 0)
		status = fail("%s", f.e.text);
	if (status != 0)
		archive_done(&f.a);
	else
		*ret = f.a;
	return status;
}

/* --- one stage ---------------------------------------------------------------------------------------------------- */

/* A pattern that matches one file is replaced by its name, so that COPY can rename the file. */
static int pack_source(struct building *b, const struct plan_copy *c, json_t *step, struct archive *ret, struct err *e)
{
	const struct context_how how = { .parents = c->parents, .exclude = c->exclude };
	autofree char *single = NULL;

	if (c->parents)
		return context_pack(&b->context, c->source, &how, ret, e);
	if (context_single(&b->context, c->source, &single, e) < 0)
		return -e->no;
	if (single)
		(void)json_array_set_new(json_object_get(step, "args"), 0, json_string(single));
	return context_pack(&b->context, single ? single : c->source, &how, ret, e);
}

static int send_copy(struct building *b, struct atoll_build *bd, const struct plan_stage *st, const struct plan_copy *c)
{
	struct archive a = ARCHIVE_NONE;
	json_t *step = json_array_get(st->steps, c->step);
	struct err e = ERR_INIT;
	int status = 0;

	if (c->stage >= 0)
		status = fetch(b, b->tags[c->stage], c, step, &a);
	else if (c->text ? archive_of_text(c->source, str_of(c->text), &a, &e) < 0
			 : pack_source(b, c, step, &a, &e) < 0)
		status = c->line ? fail("line %u: %s", c->line, e.text) : fail("%s", e.text);
	if (status == 0)
		status = send_archive(b, bd, &a, c->source);
	if (status == 0)
		(void)json_object_set_new(step, "filesHash", json_string(a.hash));
	archive_done(&a);
	return status;
}

static char *spec_text(const struct building *b, const struct plan_stage *st, bool is_last)
{
	json_t *o = json_pack("{s:O}", "steps", st->steps);
	autofree char *own = plan_start_cmd(st);
	const char *start = b->o->start ? b->o->start : b->o->no_start || !own ? "" : own;
	bool is_template = st->image && b->o->from_template;

	if (b->has_image && b->o->image)
		(void)json_object_set_new(o, "fromUploadImage", json_string(b->o->image));
	if (b->has_image)
		(void)json_object_set_new(o, "fromUpload", json_string(b->image.hash));
	else
		(void)json_object_set_new(o, is_template || !st->image ? "fromTemplate" : "fromImage",
		    json_string(st->image ? st->image : b->tags[st->below]));
	if (is_last && *start)
		(void)json_object_set_new(o, "startCmd", json_string(start));
	if (is_last && b->o->ready)
		(void)json_object_set_new(o, "readyCmd", json_string(b->o->ready));
	if (b->o->no_cache)
		(void)json_object_set_new(o, "force", json_true());
	if (st->image && b->o->registry_user)
		(void)json_object_set_new(o, "fromImageRegistry",
		    json_pack("{s:s,s:s,s:s}", "type", "registry", "username", b->o->registry_user, "password",
			b->o->registry_password ? b->o->registry_password : ""));
	char *text = json_dumps(o, JSON_COMPACT);

	json_decref(o);
	return text;
}

static int watch(struct building *b, struct atoll_build *bd)
{
	int r;

	while ((r = atoll_build_poll(bd, progress_log, &b->progress, &b->e)) == 0) {
		if (signals_first()) {
			struct atoll_error ignored;

			atoll_set_stop(b->a, NULL, NULL);
			(void)atoll_build_cancel(bd, &ignored);
			progress_end(&b->progress);
			return fail("cancelled");
		}
		progress_tick(&b->progress);
		(void)nanosleep(&(struct timespec) { .tv_nsec = POLL_NS }, NULL);
	}
	progress_end(&b->progress);
	return r < 0 ? told(b) : 0;
}

static int run_build(struct building *b, struct atoll_build *bd, const struct plan_stage *st, bool is_last)
{
	if (b->has_image && send_archive(b, bd, &b->image, b->o->source) != 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < st->n_copies; i++) {
		int status = signals_first() ? fail("cancelled") : send_copy(b, bd, st, &st->copies[i]);

		if (status != 0)
			return status;
	}
	autofree char *spec = spec_text(b, st, is_last);

	if (!spec)
		return fail("out of memory");
	return atoll_build_start(bd, spec, &b->e) < 0 ? told(b) : watch(b, bd);
}

static int build_stage(struct building *b, size_t i)
{
	const struct plan_stage *st = &b->plan.v[i];
	bool is_last = i == b->plan.want;
	char tag[64];
	struct str plain = str_of(b->o->name);
	struct str name = str_cut(&plain, ':');
	autofree char *staged = NULL;

	(void)snprintf(tag, sizeof tag, "stage-%s-%zu", b->run, i);
	staged = str_fmt("%.*s:%s", STR_ARG(name), tag);
	struct atoll_build_spec spec = { .name = is_last ? b->o->name : staged,
		.cpu_count = b->o->cpus,
		.memory_mb = b->o->memory_mb };
	struct atoll_build *bd;

	if (!staged)
		return fail("out of memory");
	if (atoll_build_new(b->a, &spec, &bd, &b->e) < 0)
		return told(b);
	int status = run_build(b, bd, st, is_last);

	if (status == 0 && is_last)
		(void)printf("%s\n", atoll_build_template(bd));
	if (status == 0 && !is_last)
		b->tags[i] = str_dup(str_of(staged));
	atoll_build_free(bd);
	return status;
}

static int build_all(struct building *b)
{
	struct str rest = str_of(b->o->name), name = str_cut(&rest, ':');
	autofree char *plain = str_dup(name);
	struct atoll_error ignored;
	int status = 0;

	b->tags = calloc(b->plan.n, sizeof(char *));
	if (!b->tags || !plain)
		return fail("out of memory");
	rand_label(b->run, sizeof b->run - 1);
	for (size_t i = 0; status == 0 && i < b->plan.n; i++) {
		if (i != b->plan.want && b->plan.v[i].needed)
			status = build_stage(b, i);
	}
	if (status == 0)
		status = build_stage(b, b->plan.want);
	for (size_t i = 0; i < b->plan.n; i++) {
		const char *tag = b->tags[i] ? strchr(b->tags[i], ':') + 1 : NULL;

		if (tag)
			(void)atoll_template_untag(b->a, plain, &tag, 1, &ignored);
		free(b->tags[i]);
	}
	free(b->tags);
	return status;
}

/* --- the source of the build -------------------------------------------------------------------------------------- */

static int read_dockerfile(const char *path, const struct build_opts *o, struct plan *ret)
{
	autobuf struct buf text = BUF_INIT(DOCKERFILE_MAX + 1);
	struct dockerfile d autodockerfile = { 0 };
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err e = ERR_INIT;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0) {
		char *room = buf_room(&text, 8192);

		n = room ? read(fd, room, 8192) : 0;
		text.n += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return fail("read '%s': %s", path, strerrordesc_np(errno));
	if (text.bad)
		return fail("'%s' is too large", path);
	if (dockerfile_parse(buf_view(&text), &d, &e) < 0 || plan_make(&d, o->args, o->target, ret, &e) < 0)
		return fail("%s: %s", path, e.text);
	return 0;
}

/* True for a tar file, plain or compressed. */
static bool is_archive(const char *path)
{
	static const unsigned char gzip[] = { 0x1f, 0x8b }, zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char head[512] = { 0 };

	if (fd < 0 || read(fd, head, sizeof head) < (ssize_t)sizeof zstd)
		return false;
	return memcmp(head, gzip, sizeof gzip) == 0 || memcmp(head, zstd, sizeof zstd) == 0 ||
	    memcmp(head + 257, "ustar", 5) == 0;
}

static bool is_layout(const char *dir)
{
	autofree char *path = str_fmt("%s/oci-layout", dir);

	return path && access(path, F_OK) == 0;
}

/* Packs the image here, so that the server receives bytes and never a path. */
static int read_image(const char *path, bool is_dir, struct archive *ret, struct err *e)
{
	static char piece[256 << 10];
	struct pack *p = NULL;
	autoclose int fd = is_dir ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct archive a;
	ssize_t n = 0;

	if (!is_dir && fd < 0)
		return err_sys(e, "open '%s'", path);
	if ((is_dir && pack_new(path, &p, e) < 0) || archive_begin(&a, e) < 0) {
		pack_free(p);
		return -e->no;
	}
	while (!e->no && (n = is_dir ? pack_read(p, piece, sizeof piece, e) : read(fd, piece, sizeof piece)) > 0)
		(void)archive_put(&a, piece, (size_t)n, e);
	if (!e->no && n < 0)
		(void)err_sys(e, "read '%s'", path);
	pack_free(p);
	if (!e->no && archive_finish(&a, e) == 0) {
		*ret = a;
		return 0;
	}
	archive_done(&a);
	return -e->no;
}

/* The source is a directory with a Dockerfile, a Dockerfile, an image layout or archive, or else the name of an
 * image. */
static int read_source(struct building *b)
{
	const char *what = b->o->source;
	struct stat st;
	struct err e = ERR_INIT;

	if (b->o->is_archive && (stat(what, &st) < 0 || !S_ISREG(st.st_mode) || !is_archive(what)))
		return fail("'%s' was not written by 'atoll template export'", what);
	bool is_file = !b->o->from_template && stat(what, &st) == 0;

	if (b->o->image && !(is_file && (S_ISDIR(st.st_mode) ? is_layout(what) : is_archive(what))))
		return fail("--image applies to archives and layouts; '%s' is neither", what);
	if (!is_file)
		return plan_of_image(what, &b->plan, &e) < 0 ? fail("%s", e.text) : 0;
	if (!b->o->file && (S_ISDIR(st.st_mode) ? is_layout(what) : is_archive(what))) {
		b->has_image = plan_of_image("an archive", &b->plan, &e) == 0 &&
		    read_image(what, S_ISDIR(st.st_mode), &b->image, &e) == 0;
		return b->has_image ? 0 : fail("%s", e.text);
	}
	autofree char *dir = S_ISDIR(st.st_mode) ? strdup(what) : NULL;
	autofree char *path = b->o->file ? strdup(b->o->file) : dir ? str_fmt("%s/Dockerfile", dir) : strdup(what);

	if (!dir) {
		const char *slash = strrchr(what, '/');

		dir = slash ? str_dup((struct str) { what, slash == what ? 1 : (size_t)(slash - what) }) : strdup(".");
	}
	if (!dir || !path)
		return fail("out of memory");
	if (context_open(dir, path, &b->context, &e) < 0)
		return fail("%s", e.text);
	return read_dockerfile(path, b->o, &b->plan);
}

static void tell_notices(const struct building *b)
{
	json_t *line;
	size_t i;

	json_array_foreach(b->plan.notices, i, line)(void) fprintf(stderr, "%s\n", json_string_value(line));
}

int build_run(struct atoll *a, const struct build_opts *o)
{
	struct building b = { .a = a, .o = o, .image = ARCHIVE_NONE };
	int status = read_source(&b);

	if (status == 0 && (status = signals_hold()) == 0) {
		atoll_set_stop(a, signals_stop_waiting, NULL);
		progress_begin(&b.progress, o->plain);
		tell_notices(&b);
		status = build_all(&b);
	}
	context_done(&b.context);
	archive_done(&b.image);
	plan_done(&b.plan);
	return signals_leave(status);
}
