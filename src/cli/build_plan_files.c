/* SPDX-License-Identifier: Apache-2.0 */
/* cli/build_plan_files: COPY and ADD: files of the context, of other stages, of heredocs, of the network. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "cli/build_plan_impl.h"

#define ADDED "/.atoll-add/"

struct files {				/* one instruction */
	struct planner *pl;
	const struct df_instr *in;
	int stage;			/* PLAN_CONTEXT: the context */
	char *chown, *chmod;		/* "": not given */
	const char *checksum;		/* hex digits, or NULL */
};

static int add_copy(const struct files *f, int stage, const char *source, const char *text)
{
	struct plan_stage *st = f->pl->at;
	struct plan_copy *c = &st->copies[st->n_copies];

	if (st->n_copies == PLAN_COPIES_MAX)
		return err_set(f->pl->e, EINVAL, "line %u: more than %d files are copied", f->in->line, PLAN_COPIES_MAX);
	*c = (struct plan_copy) { .step = json_array_size(st->steps), .line = f->in->line, .stage = stage, .source = strdup(source) };
	st->n_copies++;
	c->text = text ? strdup(text) : NULL;
	return c->source && (!text || c->text) ? 0 : plan_no_memory(f->pl);
}

static int copy_step(const struct files *f, int stage, const char *source, const char *text, const char *dest)
{
	while (*source == '/' || (source[0] == '.' && source[1] == '/'))
		source++;
	if (add_copy(f, stage, *source ? source : ".", text) < 0)
		return -f->pl->e->no;
	return plan_add_step(f->pl, plan_step("COPY", *source ? source : ".", dest, *f->chown ? f->chown : "root", f->chmod));
}

/* A stage that is nothing but an image: COPY --from=alpine:3. */
static int stage_of(struct planner *pl, const struct df_instr *in, const char *from, int *ret)
{
	struct plan_stage *at = pl->at;
	size_t mine = (size_t)(at - pl->p->v);
	int found = PLAN_CONTEXT;

	for (size_t k = 0; k < pl->p->n; k++) {
		if (k != mine && pl->p->v[k].name[0] && strcasecmp(pl->p->v[k].name, from) == 0)
			found = (int)k;
	}
	uint64_t i;

	if (found < 0 && mine > 0 && str_to_u64(str_of(from), mine - 1, &i) == 0)
		found = (int)i;
	if (found < 0 && plan_new_stage(pl, from, from, in->line) < 0)
		return -pl->e->no;
	*ret = found < 0 ? (int)(pl->at - pl->p->v) : found;
	pl->at = at;
	return 0;
}

static bool is_archive(const char *name)
{
	static const char *const ends[] = { ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (str_ends(str_of(name), ends[i]))
			return true;
	}
	return false;
}

/* " && chown -R OWNER PATH && chmod -R MODE PATH", what of it was asked for. */
static void put_owner(struct buf *b, const struct files *f, const char *q_path)
{
	autofree char *owner = plan_quote(f->chown), *mode = plan_quote(f->chmod);

	if (!owner || !mode)
		b->bad = true;
	else if (*f->chown)
		buf_fmt(b, " && chown -R %s %s", owner, q_path);
	if (mode && *f->chmod)
		buf_fmt(b, " && chmod -R %s %s", mode, q_path);
}

static int add_run(struct planner *pl, struct buf *cmd)
{
	return cmd->bad || !buf_cstr(cmd) ? plan_no_memory(pl) : plan_add_step(pl, plan_step("RUN", buf_cstr(cmd), "root", NULL, NULL));
}

/* It is fetched inside, by what the image has for that. */
static int add_url(const struct files *f, const char *url, const char *dest)
{
	const char *slash = strrchr(url, '/');
	autofree char *to = str_ends(str_of(dest), "/") ? str_fmt("%s%s", dest, slash && slash[1] ? slash + 1 : "download") : strdup(dest);
	autofree char *q_url = plan_quote(url), *q_to = to ? plan_quote(to) : NULL;
	autobuf struct buf cmd = BUF_INIT(PLAN_TEXT_MAX);

	if (!q_url || !q_to)
		return plan_no_memory(f->pl);
	buf_fmt(&cmd, "mkdir -p \"$(dirname %s)\" && if command -v curl >/dev/null; then curl -fsSL -o %s %s; else wget -qO %s %s; fi", q_to, q_to, q_url, q_to,
		q_url);
	if (f->checksum)
		buf_fmt(&cmd, " && echo %s %s | sha256sum -c -", f->checksum, q_to);
	if (!*f->chmod)
		buf_fmt(&cmd, " && chmod 600 %s", q_to);	/* as Docker */
	put_owner(&cmd, f, q_to);
	return add_run(f->pl, &cmd);
}

/* ADD unpacks an archive of the context. */
static int add_archive(const struct files *f, const char *source, const char *dest)
{
	const struct files plain = { .pl = f->pl, .in = f->in, .stage = f->stage, .chown = (char[]) { "" }, .chmod = (char[]) { "" } };
	autofree char *q_to = plan_quote(dest);
	autobuf struct buf cmd = BUF_INIT(PLAN_TEXT_MAX);

	if (!q_to)
		return plan_no_memory(f->pl);
	buf_fmt(&cmd, "mkdir -p %s " ADDED "out && for f in " ADDED "*; do [ -d \"$f\" ] || tar -xf \"$f\" -C " ADDED "out || exit; done", q_to);
	put_owner(&cmd, f, ADDED "out");
	buf_fmt(&cmd, " && cp -a " ADDED "out/. %s && rm -r " ADDED, q_to);
	return copy_step(&plain, PLAN_CONTEXT, source, NULL, ADDED) < 0 ? -f->pl->e->no : add_run(f->pl, &cmd);
}

static bool is_url(const char *source)
{
	return strncmp(source, "http://", 7) == 0 || strncmp(source, "https://", 8) == 0;
}

static bool is_git(const char *source)
{
	return strncmp(source, "git@", 4) == 0 || strncmp(source, "git://", 6) == 0 || strncmp(source, "ssh://", 6) == 0 ||
	       (is_url(source) && (str_ends(str_of(source), ".git") || strstr(source, ".git#")));
}

/* server_dest: as the server takes it; dest: with all variables expanded, for commands. */
static int plan_one(const struct files *f, const char *source, const char *server_dest, const char *dest)
{
	const struct df_instr *in = f->in;

	for (size_t i = 0; i < in->n_docs; i++) {
		if (!str_ends(str_of(source), in->docs[i].name) || strncmp(source, "<<", 2) != 0)
			continue;
		autofree char *body = in->docs[i].expand ? plan_expand(f->pl, in->docs[i].body) : strdup(in->docs[i].body);

		return body ? copy_step(f, PLAN_CONTEXT, in->docs[i].name, body, server_dest) : plan_no_memory(f->pl);
	}
	if (in->kind == DF_ADD && is_git(source))
		return err_set(f->pl->e, EINVAL, "line %u: ADD of a repository is not supported: use RUN git clone", in->line);
	if (in->kind == DF_ADD && is_url(source))
		return add_url(f, source, dest);
	if (f->checksum)
		return err_set(f->pl->e, EINVAL, "line %u: --checksum is for what comes from a URL", in->line);
	if (in->kind == DF_ADD && is_archive(source))
		return add_archive(f, source, dest);
	return copy_step(f, f->stage, source, NULL, server_dest);
}

static int check_flags(struct files *f)
{
	static const char *const known[] = { "from", "chown", "chmod", "link", "checksum" };

	for (size_t i = 0; i < f->in->n_flags; i++) {
		const char *name = f->in->flags[i].name;
		bool ok = false;

		for (size_t k = 0; k < ARRAY_LEN(known); k++)
			ok = ok || strcmp(name, known[k]) == 0;
		if (!ok || (strcmp(name, f->in->kind == DF_ADD ? "from" : "checksum") == 0))
			return err_set(f->pl->e, EINVAL, "line %u: %s --%.40s is not supported", f->in->line, f->in->keyword, name);
	}
	f->checksum = df_flag_get(f->in, "checksum");
	if (!f->checksum)
		return 0;
	if (strncmp(f->checksum, "sha256:", 7) != 0 || strlen(f->checksum + 7) != 64 || strspn(f->checksum + 7, "0123456789abcdef") != 64)
		return err_set(f->pl->e, EINVAL, "line %u: --checksum should be sha256: and 64 hex digits", f->in->line);
	f->checksum += 7;
	return 0;
}

static int plan_all_of(struct files *f)
{
	const struct df_instr *in = f->in;
	const char *from = df_flag_get(in, "from"), *last = in->words[in->n_words - 1];

	if (from && stage_of(f->pl, in, from, &f->stage) < 0)
		return -f->pl->e->no;
	autofree char *dest = plan_expand(f->pl, last), *server_dest = plan_expand_args(f->pl, last);

	if (!dest || !server_dest)
		return plan_no_memory(f->pl);
	if (in->n_words > 2 && !str_ends(str_of(dest), "/") && strcmp(dest, ".") != 0)
		return err_set(f->pl->e, EINVAL, "line %u: with several sources the destination must be a directory and end with /", in->line);
	for (size_t i = 0; i + 1 < in->n_words; i++) {
		autofree char *source = plan_expand(f->pl, in->words[i]);

		if (!source || plan_one(f, source, server_dest, dest) < 0)
			return source ? -f->pl->e->no : plan_no_memory(f->pl);
	}
	return 0;
}

int plan_files(struct planner *pl, const struct df_instr *in)
{
	const char *chown = df_flag_get(in, "chown"), *chmod = df_flag_get(in, "chmod");
	struct files f = { .pl = pl, .in = in, .stage = PLAN_CONTEXT };

	if (in->n_words < 2)
		return err_set(pl->e, EINVAL, "line %u: %s needs a source and a destination", in->line, in->keyword);
	if (check_flags(&f) < 0)
		return -pl->e->no;
	f.chown = plan_expand(pl, chown ? chown : "");
	f.chmod = plan_expand(pl, chmod ? chmod : "");
	int r = f.chown && f.chmod ? plan_all_of(&f) : plan_no_memory(pl);

	free(f.chown);
	free(f.chmod);
	return r;
}

int plan_copy_aside(struct planner *pl, const struct df_instr *in, const char *from, const char *source, const char *dest)
{
	struct files f = { .pl = pl, .in = in, .stage = PLAN_CONTEXT, .chown = (char[]) { "" }, .chmod = (char[]) { "" } };

	if (from && stage_of(pl, in, from, &f.stage) < 0)
		return -pl->e->no;
	return copy_step(&f, f.stage, source, NULL, dest);
}
