/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan_run: RUN, CMD, ENTRYPOINT and SHELL: the command and the shell that runs it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/template/build_plan_impl.h"

#define HEREDOC_END "ATOLL_END_OF_SCRIPT"

static char *join(const struct df_instr *in)
{
	autobuf struct buf b = BUF_INIT(PLAN_TEXT_MAX);

	for (size_t i = 0; i < in->n_words; i++) {
		if (i)
			buf_ch(&b, ' ');
		plan_put_quoted(&b, in->words[i]);
	}
	return b.bad ? NULL : str_dup(b.n ? buf_view(&b) : STR_LIT(""));
}

/* A shell-form CMD is passed to an ENTRYPOINT as Docker does: as "/bin/sh -c CMD". */
char *plan_start_cmd(const struct plan_stage *st)
{
	bool wrap = st->cmd && st->cmd_is_shell && !st->shell;
	autofree char *quoted = wrap ? plan_quote(st->cmd) : NULL;

	if (!st->entrypoint || !st->cmd || st->entry_is_shell)
		return strdup(st->entrypoint ? st->entrypoint : st->cmd ? st->cmd : "");
	if (wrap)
		return quoted ? str_fmt("%s /bin/sh -c %s", st->entrypoint, quoted) : NULL;
	return str_fmt("%s %s", st->entrypoint, st->cmd);
}

/* Writes the script of a RUN that is only a heredoc. Its "#!" line, if any, names the interpreter. */
static void put_script(struct buf *b, const char *body)
{
	if (strncmp(body, "#!", 2) == 0)
		buf_fmt(b,
		    "f=$(mktemp) && cat >\"$f\" <<'" HEREDOC_END "'\n%s" HEREDOC_END
		    "\nchmod +x \"$f\" && \"$f\"; r=$?; rm -f \"$f\"; exit $r",
		    body);
	else
		buf_z(b, body);
}

static char *run_text(const struct df_instr *in)
{
	autobuf struct buf b = BUF_INIT(PLAN_TEXT_MAX);
	bool bare = in->n_docs == 1 && strncmp(in->text, "<<", 2) == 0 && !strpbrk(in->text, " \t|;&");

	if (in->n_docs == 0 || in->exec)
		return in->exec ? join(in) : strdup(in->text);
	if (bare) {
		put_script(&b, in->docs[0].body);
	} else {
		buf_fmt(&b, "%s\n", in->text);
		for (size_t i = 0; i < in->n_docs; i++)
			buf_fmt(&b, "%s%s\n", in->docs[i].body, in->docs[i].name);
	}
	return b.bad ? NULL : str_dup(b.n ? buf_view(&b) : STR_LIT(""));
}

/* Wraps the command in the shell set by SHELL, if any. */
static char *by_shell(const char *shell, const char *text)
{
	autofree char *quoted = shell ? plan_quote(text) : NULL;

	return !shell ? strdup(text) : quoted ? str_fmt("%s %s", shell, quoted) : NULL;
}

/* Variables that are read-only in bash, so that an ARG UID would have no effect; /bin/sh runs the command then, as in
 * Docker. */
static bool bash_keeps(const char *name)
{
	static const char *const names[] = { "UID", "EUID", "PPID", "GROUPS", "BASHOPTS", "SHELLOPTS",
		"BASH_VERSINFO" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Writes assignments of the ARG variables before the command. *ret_plain is set if bash cannot assign one of them. */
static void put_args(const struct plan_stage *st, struct buf *cmd, bool *ret_plain)
{
	const char *name;
	json_t *value;

	*ret_plain = false;
	json_object_foreach(st->env, name, value) *ret_plain = *ret_plain || bash_keeps(name);
	json_object_foreach(st->args, name, value) *ret_plain = *ret_plain || bash_keeps(name);
	json_object_foreach(*ret_plain ? st->env : NULL, name, value)
	{
		if (!bash_keeps(name))
			continue;
		buf_fmt(cmd, "%s%s=", cmd->n ? " " : "env ", name);
		plan_put_quoted(cmd, json_string_value(value));
	}
	json_object_foreach(st->args, name, value)
	{
		if (json_object_get(st->env, name))
			continue;
		buf_fmt(cmd, "%s%s=", cmd->n ? " " : *ret_plain ? "env " : "export ", name);
		plan_put_quoted(cmd, json_string_value(value));
	}
	if (cmd->n)
		buf_ch(cmd, *ret_plain ? ' ' : '\n');
}

static void around_done(struct plan_around *a)
{
	buf_done(&a->before);
	buf_done(&a->after);
}

int plan_root_run(struct planner *pl, struct buf *cmd)
{
	return !cmd->n       ? 0
	    : !buf_cstr(cmd) ? plan_no_memory(pl)
			     : plan_add_step(pl, plan_step("RUN", buf_cstr(cmd), "root", NULL, NULL));
}

int plan_run(struct planner *pl, const struct df_instr *in)
{
	autobuf struct buf cmd = BUF_INIT(2 * PLAN_TEXT_MAX);
	struct plan_around around
	    __attribute__((cleanup(around_done))) = { BUF_INIT(PLAN_TEXT_MAX), BUF_INIT(PLAN_TEXT_MAX) };
	autofree char *text = run_text(in);
	bool plain;

	for (size_t i = 0; i < in->n_flags; i++) {
		const struct df_flag *f = &in->flags[i];

		if (strcmp(f->name, "mount") != 0 &&
		    (strcmp(f->name, "network") != 0 || strcmp(f->value, "default") != 0))
			return err_set(pl->e, EINVAL, "line %u: RUN --%.40s=%.60s is not supported", in->line, f->name,
			    f->value);
	}
	if (plan_mounts(pl, in, &around) < 0 || plan_root_run(pl, &around.before) < 0)
		return -pl->e->no;
	put_args(pl->at, &cmd, &plain);
	autofree char *whole = !text ? NULL
	    : in->exec               ? strdup(text)
				     : by_shell(pl->at->shell ? pl->at->shell
					       : plain        ? "/bin/sh -c"
							      : NULL,
			     text);

	buf_z(&cmd, whole ? whole : "");
	if (!whole || cmd.bad)
		return plan_no_memory(pl);
	return plan_add_step(pl, plan_step("RUN", buf_cstr(&cmd), NULL, NULL, NULL)) < 0
	    ? -pl->e->no
	    : plan_root_run(pl, &around.after);
}

int plan_command(struct planner *pl, const struct df_instr *in)
{
	struct plan_stage *st = pl->at;
	char **to = in->kind == DF_CMD ? &st->cmd : &st->entrypoint;

	free(*to);
	*to = in->exec ? join(in) : by_shell(st->shell, in->text);
	if (!*to)
		return plan_no_memory(pl);
	if (in->kind == DF_CMD) {
		st->has_cmd = true;
		st->cmd_is_shell = !in->exec;
		return 0;
	}
	if (!st->has_cmd) { /* as in Docker: resets the inherited CMD */
		free(st->cmd);
		st->cmd = NULL;
	}
	st->entry_is_shell = !in->exec;
	return 0;
}

int plan_shell(struct planner *pl, const struct df_instr *in)
{
	if (!in->exec || in->n_words == 0)
		return err_set(pl->e, EINVAL, "line %u: expected: SHELL [\"PROGRAM\", \"ARGUMENT\"...]", in->line);
	free(pl->at->shell);
	pl->at->shell = join(in);
	return pl->at->shell ? 0 : plan_no_memory(pl);
}
