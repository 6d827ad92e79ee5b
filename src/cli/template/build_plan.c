/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan: converts instructions to build steps. */
#include "cli/template/build_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "base/fd.h"
#include "cli/template/build_plan_impl.h"

#define STAGES_MAX 64

/* --- shared functions --- */

static const char *value_in(void *user, const char *name)
{
	return json_string_value(json_object_get(user, name));
}

/* Looks up a variable in a stage: ENV has precedence over ARG, as in Docker. */
static const char *value_at(void *user, const char *name)
{
	const struct plan_stage *st = user;
	const char *value = json_string_value(json_object_get(st->env, name));

	return value ? value : json_string_value(json_object_get(st->args, name));
}

static const char *arg_at(void *user, const char *name)
{
	const struct plan_stage *st = user;

	return json_object_get(st->env, name) ? NULL : json_string_value(json_object_get(st->args, name));
}

static char *expanded(const char *text, const char *(*value)(void *user, const char *name), void *user, bool some)
{
	autobuf struct buf out = BUF_INIT(PLAN_TEXT_MAX);

	if (some)
		df_expand_some(text, value, user, &out);
	else
		df_expand(text, value, user, &out);
	return out.bad ? NULL : str_dup(out.n ? buf_view(&out) : STR_LIT(""));
}

char *plan_expand(const struct planner *pl, const char *text)
{
	return expanded(text, value_at, pl->at, false);
}

char *plan_expand_args(const struct planner *pl, const char *text)
{
	return expanded(text, arg_at, pl->at, true);
}

int plan_no_memory(struct planner *pl)
{
	return err_set(pl->e, ENOMEM, "out of memory");
}

void plan_notice(struct planner *pl, unsigned line, const char *what)
{
	(void)json_array_append_new(pl->p->notices, json_sprintf("line %u: %s", line, what));
}

int plan_add_step(struct planner *pl, json_t *step)
{
	return !step || json_array_append_new(pl->at->steps, step) < 0 ? plan_no_memory(pl) : 0;
}

json_t *plan_step(const char *type, const char *a, const char *b, const char *c, const char *d)
{
	json_t *args = json_pack("[s]", a);
	const char *const more[] = { b, c, d };

	for (size_t i = 0; i < 3 && more[i]; i++)
		(void)json_array_append_new(args, json_string(more[i]));
	return json_pack("{s:s,s:o}", "type", type, "args", args);
}

void plan_put_quoted(struct buf *b, const char *text)
{
	buf_ch(b, '\'');
	for (const char *c = text; *c; c++) {
		if (*c == '\'')
			buf_z(b, "'\\''");
		else
			buf_ch(b, *c);
	}
	buf_ch(b, '\'');
}

char *plan_quote(const char *text)
{
	autobuf struct buf b = BUF_INIT(PLAN_TEXT_MAX);

	plan_put_quoted(&b, text);
	return b.bad ? NULL : str_dup(buf_view(&b));
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

static const char *given_arg(const struct planner *pl, const char *name)
{
	for (size_t i = 0; pl->args && i < pl->args->n; i++) {
		if (strcmp(pl->args->v[i].name, name) == 0)
			return pl->args->v[i].value;
	}
	return NULL;
}

/* Proxy variables can be used without an ARG instruction. */
static void give_proxies(struct planner *pl)
{
	static const char *const names[] = { "http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy" };

	for (size_t i = 0; pl->args && i < pl->args->n; i++) {
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			if (strcasecmp(pl->args->v[i].name, names[k]) == 0)
				(void)json_object_set_new(pl->at->args, pl->args->v[i].name,
				    json_string(pl->args->v[i].value));
		}
	}
}

static int inherit(struct planner *pl, const struct plan_stage *from)
{
	struct plan_stage *st = pl->at;

	(void)json_object_update(st->env, from->env);
	(void)json_object_update(st->args, from->args);
	st->entrypoint = from->entrypoint ? strdup(from->entrypoint) : NULL;
	st->cmd = from->cmd ? strdup(from->cmd) : NULL;
	st->shell = from->shell ? strdup(from->shell) : NULL;
	st->entry_is_shell = from->entry_is_shell;
	st->cmd_is_shell = from->cmd_is_shell;
	st->has_user = from->has_user;
	st->has_workdir = from->has_workdir;
	return !st->entrypoint == !from->entrypoint && !st->cmd == !from->cmd && !st->shell == !from->shell
	    ? 0
	    : plan_no_memory(pl);
}

int plan_new_stage(struct planner *pl, const char *image, const char *name, unsigned line)
{
	int below = image ? find_stage(pl->p, image) : PLAN_CONTEXT;

	if (pl->p->n == STAGES_MAX)
		return err_set(pl->e, EINVAL, "line %u: more than %d stages", line, STAGES_MAX);
	struct plan_stage *st = &pl->p->v[pl->p->n++];

	*st = (struct plan_stage) {
		.name = strdup(name),
		.image = below < 0 ? strdup(image) : NULL,
		.below = below,
		.steps = json_array(),
		.copies = calloc(PLAN_COPIES_MAX, sizeof(struct plan_copy)),
		.env = json_object(),
		.args = json_object(),
	};
	if (!st->name || (below < 0 && !st->image) || !st->steps || !st->copies || !st->env || !st->args)
		return plan_no_memory(pl);
	pl->at = st;
	give_proxies(pl);
	return below >= 0 ? inherit(pl, &pl->p->v[below]) : 0;
}

static int plan_instr(struct planner *pl, const struct df_instr *in);

/* Runs the ONBUILD instructions of the parent stage, as if they followed this FROM. They are not inherited any
 * further. */
static int run_triggers(struct planner *pl, unsigned line)
{
	json_t *text;
	size_t i;

	json_array_foreach(pl->p->v[pl->at->below].onbuild, i, text)
	{
		struct dockerfile d autodockerfile = { 0 };

		if (dockerfile_parse(str_of(json_string_value(text)), &d, pl->e) < 0)
			return -pl->e->no;
		for (size_t k = 0; k < d.n; k++) {
			d.v[k].line = line;
			if (plan_instr(pl, &d.v[k]) < 0)
				return -pl->e->no;
		}
	}
	return 0;
}

/* A stage starts as root in "/", as in Docker. A stage based on another one starts with that one's settings. */
static int begin_stage(struct planner *pl, unsigned line)
{
	if (!pl->at->image)
		return run_triggers(pl, line);
	return plan_add_step(pl, plan_step("USER", "root", NULL, NULL, NULL)) < 0
	    ? -pl->e->no
	    : plan_add_step(pl, plan_step("WORKDIR", "/", NULL, NULL, NULL));
}

/* Images are always pulled for the platform of the server. */
static void check_platform(struct planner *pl, const struct df_instr *in)
{
	const char *asked = df_flag_get(in, "platform"), *own = value_in(pl->global, "TARGETPLATFORM");
	autofree char *platform = asked ? expanded(asked, value_in, pl->global, false) : NULL;

	if (platform && *platform && own && strcmp(platform, own) != 0)
		plan_notice(pl, in->line,
		    "FROM --platform has no effect: the image for the server's architecture is used");
}

static int plan_from(struct planner *pl, const struct df_instr *in)
{
	autofree char *image = expanded(in->words[0], value_in, pl->global, false);
	bool named = in->n_words == 3 && strcasecmp(in->words[1], "as") == 0;

	for (size_t i = 0; i < in->n_flags; i++) {
		if (strcmp(in->flags[i].name, "platform") != 0)
			return err_set(pl->e, EINVAL, "line %u: FROM --%.40s is not supported", in->line,
			    in->flags[i].name);
	}
	check_platform(pl, in);
	if (!image || !*image || (in->n_words != 1 && !named))
		return err_set(pl->e, EINVAL, "line %u: expected: FROM IMAGE [AS NAME]", in->line);
	if (strcmp(image, "scratch") == 0)
		return err_set(pl->e, EINVAL,
		    "line %u: FROM scratch is not supported: an empty image cannot run a step", in->line);
	return plan_new_stage(pl, image, named ? in->words[2] : "", in->line) < 0 ? -pl->e->no
										  : begin_stage(pl, in->line);
}

/* --- other instructions ------------------------------------------------------------------------------------------- */

/* Returns the value of an ARG: the one of --build-arg, else its default, else that of an ARG before the first FROM.
 * NULL if it has none. */
static char *arg_value(struct planner *pl, const char *name, const char *own)
{
	const char *given = given_arg(pl, name), *global = json_string_value(json_object_get(pl->global, name));

	if (given)
		return strdup(given);
	if (own)
		return pl->at ? plan_expand(pl, own) : expanded(own, value_in, pl->global, false);
	return global ? strdup(global) : NULL;
}

/* An ARG is visible to the instructions after it in the same stage, but not in the template. Within one instruction,
 * all defaults are expanded with the values from before it, except before the first FROM, as in Docker. */
static int plan_arg(struct planner *pl, const struct df_instr *in)
{
	json_t *own = pl->at ? json_object() : json_incref(pl->global);
	int r = own ? 0 : plan_no_memory(pl);

	for (size_t i = 0; r == 0 && i < in->n_words; i += 2) {
		autofree char *value = arg_value(pl, in->words[i], in->words[i + 1]);

		if (value && json_object_set_new(own, in->words[i], json_string(value)) < 0)
			r = err_set(pl->e, EINVAL, "line %u: ARG %.40s is not UTF-8", in->line, in->words[i]);
	}
	if (r == 0 && pl->at)
		(void)json_object_update(pl->at->args, own);
	json_decref(own);
	return r;
}

/* Only the server knows the variables set by the image, so it expands those. A variable set here is visible from the
 * next instruction on. */
static int plan_env(struct planner *pl, const struct df_instr *in)
{
	json_t *args = json_array(), *own = json_object();

	for (size_t i = 0; i < in->n_words; i += 2) {
		autofree char *value = plan_expand(pl, in->words[i + 1]),
			      *some = plan_expand_args(pl, in->words[i + 1]);

		if (!value || !some || json_array_append_new(args, json_string(in->words[i])) < 0 ||
		    json_array_append_new(args, json_string(some)) < 0) {
			json_decref(args);
			json_decref(own);
			return err_set(pl->e, EINVAL, "line %u: ENV %.40s is too long or not UTF-8", in->line,
			    in->words[i]);
		}
		(void)json_object_set_new(own, in->words[i], json_string(value));
	}
	(void)json_object_update(pl->at->env, own);
	json_decref(own);
	return plan_add_step(pl, json_pack("{s:s,s:o}", "type", "ENV", "args", args));
}

/* Returns the offset of ":GROUP", skipping colons as in "${NAME:-user}". */
static size_t group_at(const char *user)
{
	unsigned depth = 0;
	size_t i = 0;

	for (; user[i] && (depth > 0 || user[i] != ':'); i++)
		depth = user[i] == '{' ? depth + 1 : user[i] == '}' && depth ? depth - 1 : depth;
	return i;
}

/* Plans WORKDIR and USER. A group given with USER is ignored; the user's own group is used. */
static int plan_place(struct planner *pl, const struct df_instr *in)
{
	autofree char *value = plan_expand_args(pl, in->words[0]);

	if (!value)
		return plan_no_memory(pl);
	if (in->kind == DF_USER)
		value[group_at(value)] = '\0';
	if (!*value)
		return err_set(pl->e, EINVAL, "line %u: %s needs an argument", in->line, in->keyword);
	pl->at->has_user = pl->at->has_user || in->kind == DF_USER;
	pl->at->has_workdir = pl->at->has_workdir || in->kind == DF_WORKDIR;
	return plan_add_step(pl, plan_step(in->kind == DF_USER ? "USER" : "WORKDIR", value, NULL, NULL, NULL));
}

/* No volume is mounted, but programs rely on the directory, so it is created. */
static int plan_volume(struct planner *pl, const struct df_instr *in)
{
	autobuf struct buf cmd = BUF_INIT(PLAN_TEXT_MAX);

	for (size_t i = 0; i < in->n_words; i++) {
		autofree char *path = plan_expand(pl, in->words[i]), *quoted = path ? plan_quote(path) : NULL;

		if (!quoted)
			return plan_no_memory(pl);
		buf_fmt(&cmd, "%s %s", i ? "" : "mkdir -p", quoted);
	}
	return plan_root_run(pl, &cmd);
}

/* Records instructions for stages based on this one; a template cannot store them. */
static int plan_onbuild(struct planner *pl, const struct df_instr *in)
{
	static const char *const not[] = { "ONBUILD", "FROM", "MAINTAINER" };
	struct dockerfile d autodockerfile = { 0 };
	autobuf struct buf text = BUF_INIT(2 * PLAN_TEXT_MAX);

	buf_z(&text, in->text);
	for (size_t i = 0; i < in->n_docs; i++)
		buf_fmt(&text, "\n%s%s", in->docs[i].body, in->docs[i].name);
	if (!buf_cstr(&text))
		return plan_no_memory(pl);
	if (dockerfile_parse(buf_view(&text), &d, pl->e) < 0 || d.n != 1)
		return err_set(pl->e, EINVAL, "line %u: ONBUILD needs an instruction", in->line);
	for (size_t i = 0; i < ARRAY_LEN(not); i++) {
		if (strcmp(d.v[0].keyword, not[i]) == 0)
			return err_set(pl->e, EINVAL, "line %u: ONBUILD %s is not allowed", in->line, not[i]);
	}
	if (!pl->at->onbuild)
		pl->at->onbuild = json_array();
	return json_array_append_new(pl->at->onbuild, json_string(buf_cstr(&text))) < 0 ? plan_no_memory(pl) : 0;
}

/* Adds a notice for an instruction without effect that users may rely on. LABEL and EXPOSE make no difference. */
static void tell_ignored(struct planner *pl, const struct df_instr *in)
{
	if (strcmp(in->keyword, "HEALTHCHECK") == 0)
		plan_notice(pl, in->line,
		    "HEALTHCHECK has no effect: use --ready for a command that tests whether the template is ready");
	else if (strcmp(in->keyword, "STOPSIGNAL") == 0)
		plan_notice(pl, in->line, "STOPSIGNAL has no effect: a sandbox is killed as a whole");
}

static int plan_instr(struct planner *pl, const struct df_instr *in)
{
	if (in->kind == DF_ARG && !pl->at)
		return plan_arg(pl, in);
	if (in->kind != DF_FROM && !pl->at)
		return err_set(pl->e, EINVAL, "line %u: %s before the first FROM", in->line, in->keyword);
	switch (in->kind) {
	case DF_FROM:
		return plan_from(pl, in);
	case DF_RUN:
		return plan_run(pl, in);
	case DF_COPY:
	case DF_ADD:
		return plan_files(pl, in);
	case DF_ENV:
		return plan_env(pl, in);
	case DF_ARG:
		return plan_arg(pl, in);
	case DF_WORKDIR:
	case DF_USER:
		return plan_place(pl, in);
	case DF_SHELL:
		return plan_shell(pl, in);
	case DF_VOLUME:
		return plan_volume(pl, in);
	case DF_ONBUILD:
		return plan_onbuild(pl, in);
	case DF_CMD:
	case DF_ENTRYPOINT:
		return plan_command(pl, in);
	case DF_IGNORED:
		tell_ignored(pl, in);
		break;
	}
	return 0;
}

/* --- the whole plan ----------------------------------------------------------------------------------------------- */

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

/* Sets the platform variables that Docker predefines for an ARG without a value. Images are built for the platform
 * they run on. */
static void give_platform(struct planner *pl)
{
	struct utsname u;
	const char *arch = uname(&u) < 0 || strcmp(u.machine, "x86_64") == 0 ? "amd64"
	    : strcmp(u.machine, "aarch64") == 0                              ? "arm64"
									     : u.machine;

	for (size_t i = 0; i < 2; i++) {
		const char *who = i ? "BUILD" : "TARGET";
		autofree char *platform = str_fmt("%sPLATFORM", who), *os = str_fmt("%sOS", who),
			      *cpu = str_fmt("%sARCH", who);

		if (!platform || !os || !cpu)
			return;
		(void)json_object_set_new(pl->global, platform, json_sprintf("linux/%s", arch));
		(void)json_object_set_new(pl->global, os, json_string("linux"));
		(void)json_object_set_new(pl->global, cpu, json_string(arch));
	}
}

/* Sets the default user and directory of sandboxes, unless the Dockerfile sets them. */
static int end_plan(struct planner *pl)
{
	pl->at = &pl->p->v[pl->p->want];
	if (!pl->at->has_user && plan_add_step(pl, plan_step("USER", "user", NULL, NULL, NULL)) < 0)
		return -pl->e->no;
	return pl->at->has_workdir ? 0 : plan_add_step(pl, plan_step("WORKDIR", "/home/user", NULL, NULL, NULL));
}

static int plan_all(struct planner *pl, const struct dockerfile *d, const char *target)
{
	give_platform(pl);
	for (size_t i = 0; i < d->n; i++) {
		if (plan_instr(pl, &d->v[i]) < 0)
			return -pl->e->no;
	}
	if (!pl->at)
		return err_set(pl->e, EINVAL, "no FROM instruction");
	pl->p->want = (size_t)(pl->at - pl->p->v);
	if (target) {
		int found = find_stage(pl->p, target);

		if (found < 0)
			return err_set(pl->e, EINVAL, "stage '%s' does not exist", target);
		pl->p->want = (size_t)found;
	}
	need(pl->p, pl->p->want);
	return end_plan(pl);
}

int plan_make(const struct dockerfile *d, const struct pairs *args, const char *target, struct plan *ret, struct err *e)
{
	struct plan p = { .v = calloc(STAGES_MAX, sizeof(struct plan_stage)), .notices = json_array() };
	struct planner pl = { .p = &p, .args = args, .global = json_object(), .e = e };
	int r = p.v && pl.global ? plan_all(&pl, d, target) : plan_no_memory(&pl);

	json_decref(pl.global);
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

	if (!p.v || plan_new_stage(&pl, image, "", 0) < 0) {
		plan_done(&p);
		return plan_no_memory(&pl);
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
			free(st->copies[k].exclude);
		}
		free(st->copies);
		free(st->name);
		free(st->image);
		free(st->entrypoint);
		free(st->cmd);
		free(st->shell);
		json_decref(st->onbuild);
		json_decref(st->steps);
		json_decref(st->env);
		json_decref(st->args);
	}
	json_decref(p->notices);
	free(p->v);
	*p = (struct plan) { 0 };
}
