/* SPDX-License-Identifier: Apache-2.0 */
/* cli/build_plan: from instructions to steps. */
#include "cli/build_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"

#define STAGES_MAX 64
#define COPIES_MAX 1000
#define TEXT_MAX (256 * 1024)
#define ADDED "/.atoll-add/"

struct planner {
	struct plan *p;
	const struct pairs *args;
	json_t *global;			/* ARG before the first FROM */
	struct plan_stage *at;		/* NULL before the first FROM */
	char *entrypoint, *cmd;
	struct err *e;
};

static const char *value_in(void *user, const char *name)
{
	return json_string_value(json_object_get(user, name));
}

static char *expand(const char *text, json_t *env)
{
	autobuf struct buf out = BUF_INIT(TEXT_MAX);

	df_expand(text, value_in, env, &out);
	return out.bad ? NULL : str_dup(buf_view(&out));
}

static int no_memory(struct planner *pl)
{
	return err_set(pl->e, ENOMEM, "out of memory");
}

static int add_step(struct planner *pl, json_t *step)
{
	return !step || json_array_append_new(pl->at->steps, step) < 0 ? no_memory(pl) : 0;
}

static json_t *step_of(const char *type, const char *a, const char *b, const char *c, const char *d)
{
	json_t *args = json_pack("[s]", a);
	const char *const more[] = { b, c, d };

	for (size_t i = 0; i < 3 && more[i]; i++)
		(void)json_array_append_new(args, json_string(more[i]));
	return json_pack("{s:s,s:o}", "type", type, "args", args);
}

/* --- FROM --------------------------------------------------------------------------------------------------------- */

static int find_stage(const struct plan *p, const char *name)
{
	uint64_t i;

	for (size_t k = 0; k < p->n; k++) {
		if (p->v[k].name[0] && strcasecmp(p->v[k].name, name) == 0)
			return (int)k;
	}
	return str_to_u64(str_of(name), p->n ? p->n - 1 : 0, &i) == 0 && p->n ? (int)i : PLAN_CONTEXT;
}

static char *join(const struct df_instr *in)
{
	autobuf struct buf b = BUF_INIT(TEXT_MAX);

	for (size_t i = 0; i < in->n_words; i++) {
		buf_z(&b, i ? " '" : "'");
		for (const char *c = in->words[i]; *c; c++) {
			if (*c == '\'')
				buf_z(&b, "'\\''");
			else
				buf_ch(&b, *c);
		}
		buf_ch(&b, '\'');
	}
	return b.bad ? NULL : str_dup(buf_view(&b));
}

/* What a stage ends with: its command, and the user and directory that sandboxes have unless it said otherwise. */
static int end_stage(struct planner *pl)
{
	struct plan_stage *st = pl->at;

	if (!st)
		return 0;
	if (pl->entrypoint || pl->cmd) {
		free(st->start_cmd);
		st->start_cmd = str_fmt("%s%s%s", pl->entrypoint ? pl->entrypoint : "", pl->entrypoint && pl->cmd ? " " : "", pl->cmd ? pl->cmd : "");
		if (!st->start_cmd)
			return no_memory(pl);
	}
	free(pl->entrypoint);
	free(pl->cmd);
	pl->entrypoint = pl->cmd = NULL;
	if (!st->has_user && add_step(pl, step_of("USER", "user", NULL, NULL, NULL)) < 0)
		return -pl->e->no;
	if (!st->has_workdir && add_step(pl, step_of("WORKDIR", "/home/user", NULL, NULL, NULL)) < 0)
		return -pl->e->no;
	return 0;
}

static int new_stage(struct planner *pl, const char *image, const char *name, unsigned line)
{
	int below = image ? find_stage(pl->p, image) : PLAN_CONTEXT;

	if (pl->p->n == STAGES_MAX)
		return err_set(pl->e, EINVAL, "line %u: more than %d stages", line, STAGES_MAX);
	struct plan_stage *st = &pl->p->v[pl->p->n++];

	*st = (struct plan_stage) {
		.name = strdup(name), .image = below < 0 ? strdup(image) : NULL, .below = below, .steps = json_array(), .start_cmd = strdup(""),
		.copies = calloc(COPIES_MAX, sizeof(struct plan_copy)), .env = json_object(),
	};
	if (!st->name || (below < 0 && !st->image) || !st->steps || !st->start_cmd || !st->copies || !st->env)
		return no_memory(pl);
	if (below >= 0) {
		(void)json_object_update(st->env, pl->p->v[below].env);
		free(st->start_cmd);
		st->start_cmd = strdup(pl->p->v[below].start_cmd);
	}
	pl->at = st;
	return st->start_cmd ? 0 : no_memory(pl);
}

/* As Docker: root, in /. */
static int begin_stage(struct planner *pl)
{
	return add_step(pl, step_of("USER", "root", NULL, NULL, NULL)) < 0 ? -pl->e->no : add_step(pl, step_of("WORKDIR", "/", NULL, NULL, NULL));
}

static int plan_from(struct planner *pl, const struct df_instr *in)
{
	autofree char *image = expand(in->words[0], pl->global);
	bool named = in->n_words == 3 && strcasecmp(in->words[1], "as") == 0;

	if (end_stage(pl) < 0)
		return -pl->e->no;
	if (!image || !*image || (in->n_words != 1 && !named))
		return err_set(pl->e, EINVAL, "line %u: FROM should be: FROM IMAGE [AS NAME]", in->line);
	if (strcmp(image, "scratch") == 0)
		return err_set(pl->e, EINVAL, "line %u: FROM scratch: there is nothing in it that could run a step", in->line);
	return new_stage(pl, image, named ? in->words[2] : "", in->line) < 0 ? -pl->e->no : begin_stage(pl);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static int add_copy(struct planner *pl, const struct df_instr *in, int stage, const char *source, const char *text)
{
	struct plan_stage *st = pl->at;
	struct plan_copy *c = &st->copies[st->n_copies];

	if (st->n_copies == COPIES_MAX)
		return err_set(pl->e, EINVAL, "line %u: more than %d files are copied", in->line, COPIES_MAX);
	*c = (struct plan_copy) { .step = json_array_size(st->steps), .line = in->line, .stage = stage, .source = strdup(source) };
	st->n_copies++;
	c->text = text ? strdup(text) : NULL;
	return c->source && (!text || c->text) ? 0 : no_memory(pl);
}

static int copy_step(struct planner *pl, const struct df_instr *in, int stage, const char *source, const char *text, const char *dest)
{
	const char *chown = df_flag_get(in, "chown"), *chmod = df_flag_get(in, "chmod");

	while (*source == '/' || (source[0] == '.' && source[1] == '/'))
		source++;
	if (add_copy(pl, in, stage, *source ? source : ".", text) < 0)
		return -pl->e->no;
	return add_step(pl, step_of("COPY", *source ? source : ".", dest, chown ? chown : "root", chmod ? chmod : ""));
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
	if (found < 0 && new_stage(pl, from, from, in->line) < 0)
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

static char *quoted(const char *text)
{
	char *words[] = { (char *)text };

	return join(&(struct df_instr) { .words = words, .n_words = 1 });
}

static int add_url(struct planner *pl, const char *url, const char *dest)
{
	const char *slash = strrchr(url, '/');
	autofree char *to = str_ends(str_of(dest), "/") ? str_fmt("%s%s", dest, slash ? slash + 1 : "download") : strdup(dest);
	autofree char *q_url = quoted(url), *q_to = to ? quoted(to) : NULL;
	autofree char *cmd = q_url && q_to ? str_fmt("mkdir -p \"$(dirname %s)\" && curl -fsSL -o %s %s", q_to, q_to, q_url) : NULL;

	return cmd ? add_step(pl, step_of("RUN", cmd, "root", NULL, NULL)) : no_memory(pl);
}

/* ADD unpacks an archive of the context. */
static int add_archive(struct planner *pl, const struct df_instr *in, const char *source, const char *dest)
{
	autofree char *q_to = quoted(dest);
	autofree char *cmd = q_to ? str_fmt("mkdir -p %s && for f in " ADDED "*; do tar -xf \"$f\" -C %s; done && rm -r " ADDED, q_to, q_to) : NULL;

	if (!cmd)
		return no_memory(pl);
	return copy_step(pl, in, PLAN_CONTEXT, source, NULL, ADDED) < 0 ? -pl->e->no : add_step(pl, step_of("RUN", cmd, "root", NULL, NULL));
}

static int plan_one(struct planner *pl, const struct df_instr *in, int stage, const char *source, const char *dest)
{
	for (size_t i = 0; i < in->n_docs; i++) {
		if (str_ends(str_of(source), in->docs[i].name) && strncmp(source, "<<", 2) == 0)
			return copy_step(pl, in, PLAN_CONTEXT, in->docs[i].name, in->docs[i].body, dest);
	}
	if (in->kind == DF_ADD && (strncmp(source, "http://", 7) == 0 || strncmp(source, "https://", 8) == 0))
		return add_url(pl, source, dest);
	if (in->kind == DF_ADD && is_archive(source))
		return add_archive(pl, in, source, dest);
	return copy_step(pl, in, stage, source, NULL, dest);
}

static int plan_copy_instr(struct planner *pl, const struct df_instr *in)
{
	const char *from = df_flag_get(in, "from");
	int stage = PLAN_CONTEXT;

	if (in->n_words < 2)
		return err_set(pl->e, EINVAL, "line %u: %s needs a source and a destination", in->line, in->keyword);
	for (size_t i = 0; i < in->n_flags; i++) {
		const char *f = in->flags[i].name;

		if (strcmp(f, "from") != 0 && strcmp(f, "chown") != 0 && strcmp(f, "chmod") != 0 && strcmp(f, "link") != 0)
			return err_set(pl->e, EINVAL, "line %u: --%.40s is not supported", in->line, f);
	}
	if (from && stage_of(pl, in, from, &stage) < 0)
		return -pl->e->no;
	autofree char *dest = expand(in->words[in->n_words - 1], pl->at->env);

	if (!dest)
		return no_memory(pl);
	if (in->n_words > 2 && !str_ends(str_of(dest), "/") && strcmp(dest, ".") != 0)
		return err_set(pl->e, EINVAL, "line %u: with several sources the destination must be a directory and end with /", in->line);
	for (size_t i = 0; i + 1 < in->n_words; i++) {
		autofree char *source = expand(in->words[i], pl->at->env);

		if (!source || plan_one(pl, in, stage, source, dest) < 0)
			return source ? -pl->e->no : no_memory(pl);
	}
	return 0;
}

/* --- the others --------------------------------------------------------------------------------------------------- */

static const char *given_arg(const struct planner *pl, const char *name)
{
	for (size_t i = 0; pl->args && i < pl->args->n; i++) {
		if (strcmp(pl->args->v[i].name, name) == 0)
			return pl->args->v[i].value;
	}
	return NULL;
}

/* An ARG is a variable of the steps behind it, as an ENV is. */
static int plan_vars(struct planner *pl, const struct df_instr *in)
{
	json_t *env = pl->at ? pl->at->env : pl->global, *args = json_array();

	for (size_t i = 0; i < in->n_words; i += 2) {
		const char *own = in->kind == DF_ARG ? given_arg(pl, in->words[i]) : NULL;

		if (!own && !in->words[i + 1] && pl->at)
			own = json_string_value(json_object_get(pl->global, in->words[i]));
		autofree char *value = own ? strdup(own) : in->words[i + 1] ? expand(in->words[i + 1], env) : NULL;

		if (!value)
			continue;
		(void)json_object_set_new(env, in->words[i], json_string(value));
		(void)json_array_append_new(args, json_string(in->words[i]));
		(void)json_array_append_new(args, in->kind == DF_ARG || own ? json_string(value) : json_string(in->words[i + 1]));
	}
	if (pl->at && json_array_size(args) > 0)
		return add_step(pl, json_pack("{s:s,s:o}", "type", "ENV", "args", args));
	json_decref(args);
	return 0;
}

static int plan_run(struct planner *pl, const struct df_instr *in)
{
	autofree char *cmd = in->exec ? join(in) : NULL;

	for (size_t i = 0; i < in->n_flags; i++) {
		bool harmless = strcmp(in->flags[i].name, "mount") == 0 && strstr(in->flags[i].value, "type=cache");

		if (!harmless)
			return err_set(pl->e, EINVAL, "line %u: RUN --%.40s=%.60s is not supported", in->line, in->flags[i].name, in->flags[i].value);
	}
	if (!in->exec && in->n_docs > 0) {
		autobuf struct buf b = BUF_INIT(TEXT_MAX);
		bool bare = in->n_docs == 1 && strncmp(in->text, "<<", 2) == 0 && !strpbrk(in->text, " \t|;&");

		if (!bare)
			buf_fmt(&b, "%s\n", in->text);
		for (size_t i = 0; i < in->n_docs; i++)
			buf_fmt(&b, bare ? "%s" : "%s%s\n", in->docs[i].body, in->docs[i].name);
		cmd = b.bad ? NULL : str_dup(buf_view(&b));
	} else if (!in->exec) {
		cmd = strdup(in->text);
	}
	return cmd ? add_step(pl, step_of("RUN", cmd, NULL, NULL, NULL)) : no_memory(pl);
}

static int plan_command(struct planner *pl, const struct df_instr *in)
{
	char **to = in->kind == DF_CMD ? &pl->cmd : &pl->entrypoint;

	free(*to);
	*to = in->exec ? join(in) : strdup(in->text);
	if (in->kind == DF_ENTRYPOINT) {	/* as Docker: it takes away what the base had */
		free(pl->at->start_cmd);
		pl->at->start_cmd = strdup("");
	}
	return *to && pl->at->start_cmd ? 0 : no_memory(pl);
}

static int plan_instr(struct planner *pl, const struct df_instr *in)
{
	if (in->kind == DF_ARG && !pl->at)
		return plan_vars(pl, in);
	if (in->kind != DF_FROM && !pl->at)
		return err_set(pl->e, EINVAL, "line %u: %s before the first FROM", in->line, in->keyword);
	switch (in->kind) {
	case DF_FROM:
		return plan_from(pl, in);
	case DF_RUN:
		return plan_run(pl, in);
	case DF_COPY:
	case DF_ADD:
		return plan_copy_instr(pl, in);
	case DF_ENV:
	case DF_ARG:
		return plan_vars(pl, in);
	case DF_WORKDIR:
		pl->at->has_workdir = true;
		return add_step(pl, step_of("WORKDIR", in->words[0], NULL, NULL, NULL));
	case DF_USER:
		pl->at->has_user = true;
		in->words[0][strcspn(in->words[0], ":")] = '\0';	/* the group is that of the user */
		return add_step(pl, step_of("USER", in->words[0], NULL, NULL, NULL));
	case DF_CMD:
	case DF_ENTRYPOINT:
		return plan_command(pl, in);
	case DF_IGNORED:
		break;
	}
	return 0;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static void need(struct plan *p, size_t i)
{
	struct plan_stage *st = &p->v[i];

	if (st->needed)
		return;
	st->needed = true;
	if (!st->image && st->below >= 0)
		need(p, (size_t)st->below);
	for (size_t k = 0; k < st->n_copies; k++) {
		if (st->copies[k].stage >= 0)
			need(p, (size_t)st->copies[k].stage);
	}
}

static int plan_all(struct planner *pl, const struct dockerfile *d, const char *target)
{
	for (size_t i = 0; i < d->n; i++) {
		if (plan_instr(pl, &d->v[i]) < 0)
			return -pl->e->no;
	}
	if (!pl->at)
		return err_set(pl->e, EINVAL, "it has no FROM");
	pl->p->want = (size_t)(pl->at - pl->p->v);
	if (end_stage(pl) < 0)
		return -pl->e->no;
	if (target) {
		int found = find_stage(pl->p, target);

		if (found < 0)
			return err_set(pl->e, EINVAL, "there is no stage '%s'", target);
		pl->p->want = (size_t)found;
	}
	need(pl->p, pl->p->want);
	return 0;
}

int plan_make(const struct dockerfile *d, const struct pairs *args, const char *target, struct plan *ret, struct err *e)
{
	struct plan p = { .v = calloc(STAGES_MAX, sizeof(struct plan_stage)) };
	struct planner pl = { .p = &p, .args = args, .global = json_object(), .e = e };
	int r = p.v && pl.global ? plan_all(&pl, d, target) : no_memory(&pl);

	json_decref(pl.global);
	free(pl.entrypoint);
	free(pl.cmd);
	if (r < 0) {
		plan_done(&p);
		return r;
	}
	*ret = p;
	return 0;
}

int plan_of_image(const char *image, struct plan *ret, struct err *e)
{
	struct plan p = { .v = calloc(1, sizeof(struct plan_stage)) };
	struct planner pl = { .p = &p, .e = e };

	if (!p.v || new_stage(&pl, image, "", 0) < 0) {
		plan_done(&p);
		return no_memory(&pl);
	}
	p.v[0].needed = true;
	*ret = p;
	return 0;
}

void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct plan_stage *st = &p->v[i];

		for (size_t k = 0; k < st->n_copies; k++) {
			free(st->copies[k].source);
			free(st->copies[k].text);
		}
		free(st->copies);
		free(st->name);
		free(st->image);
		free(st->start_cmd);
		json_decref(st->steps);
		json_decref(st->env);
	}
	free(p->v);
	*p = (struct plan) { 0 };
}
