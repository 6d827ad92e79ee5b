/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan_files: COPY and ADD of files from the context, other stages, heredocs and the network. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/mode.h"
#include "cli/template/build_plan_impl.h"

#define ADDED "/.atoll-add/"

struct files { /* one instruction */
	struct planner *pl;
	const struct df_instr *in;
	int stage;           /* PLAN_CONTEXT or a stage */
	char *chown, *chmod; /* "" if not given */
	char *exclude;       /* lines; NULL if not given */
	bool parents, keep_git;
	const char *checksum; /* hex digits, or NULL */
};

static int add_copy(const struct files *f, int stage, const char *source, const char *text)
{
	struct plan_stage *st = f->pl->at;
	struct plan_copy *c = &st->copies[st->n_copies];

	if (st->n_copies == PLAN_COPIES_MAX)
		return err_set(f->pl->e, EINVAL, "line %u: more than %d files to copy", f->in->line, PLAN_COPIES_MAX);
	*c = (struct plan_copy) { .step = json_array_size(st->steps),
		.line = f->in->line,
		.stage = stage,
		.source = strdup(source) };
	st->n_copies++;
	c->text = text ? strdup(text) : NULL;
	c->parents = f->parents && !text;
	c->exclude = f->exclude && !text ? strdup(f->exclude) : NULL;
	return c->source && (!text || c->text) && (!f->exclude || text || c->exclude) ? 0 : plan_no_memory(f->pl);
}

static int copy_step(const struct files *f, int stage, const char *source, const char *text, const char *dest)
{
	while (*source == '/' || (source[0] == '.' && source[1] == '/'))
		source++;
	if (add_copy(f, stage, *source ? source : ".", text) < 0)
		return -f->pl->e->no;
	/* With --parents, copy the whole archive: its names contain the directories. */
	const char *what = !*source || (f->parents && !text) ? "." : source;

	return plan_add_step(f->pl, plan_step("COPY", what, dest, *f->chown ? f->chown : "root", f->chmod));
}

/* Finds a stage by name or number. Otherwise, from is an image, as in COPY --from=alpine:3, and gets a stage of its
 * own. */
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
	static const char *const ends[] = { ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz",
		".tar.zst" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (str_ends(str_of(name), ends[i]))
			return true;
	}
	return false;
}

/* Appends " && chown -R OWNER PATH && chmod -R MODE PATH", or the part of it that was requested. */
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
	return cmd->bad || !buf_cstr(cmd) ? plan_no_memory(pl)
					  : plan_add_step(pl, plan_step("RUN", buf_cstr(cmd), "root", NULL, NULL));
}

static bool is_false(const char *value)
{
	return value && (strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0);
}

/* Returns the name of the file that a URL is saved as in a directory. */
static char *name_of_url(const char *url)
{
	size_t n = strcspn(url, "?#");
	const char *slash = memrchr(url, '/', n);
	struct str name = slash ? (struct str) { slash + 1, n - (size_t)(slash + 1 - url) } : (struct str) { url, n };

	return str_dup(name.n ? name : STR_LIT("download"));
}

/* Downloads the file inside, with a tool of the image. to: a word for a shell. */
static void put_fetch(struct buf *b, const struct files *f, const char *q_url, const char *to)
{
	buf_fmt(b,
	    "if command -v curl >/dev/null; then curl -fsSL -o %s %s; elif command -v wget >/dev/null; then wget -nv "
	    "-O %s %s; else echo 'ADD of a URL requires curl or wget in the image' >&2; false; fi",
	    to, q_url, to, q_url);
	if (f->checksum)
		buf_fmt(b, " && echo %s %s | sha256sum -c -", f->checksum, to);
}

/* Unpacks all archives in ADDED. */
static void put_unpack(struct buf *b, const struct files *f, const char *q_to)
{
	buf_fmt(b,
	    "mkdir -p %s " ADDED "out && for f in " ADDED "*; do [ -d \"$f\" ] || tar -xf \"$f\" -C " ADDED
	    "out || exit; done",
	    q_to);
	put_owner(b, f, ADDED "out");
	buf_fmt(b, " && cp -a " ADDED "out/. %s && rm -r " ADDED, q_to);
}

static int add_url(const struct files *f, const char *url, const char *dest)
{
	const char *unpack = df_flag_get(f->in, "unpack");
	autofree char *name = name_of_url(url), *q_name = name ? plan_quote(name) : NULL, *q_url = plan_quote(url),
		      *q_to = plan_quote(dest);
	autobuf struct buf cmd = BUF_INIT(PLAN_TEXT_MAX);

	if (!q_name || !q_url || !q_to)
		return plan_no_memory(f->pl);
	if (f->exclude)
		return err_set(f->pl->e, EINVAL, "line %u: --exclude is not supported for a URL", f->in->line);
	if (unpack && !is_false(unpack)) {
		buf_z(&cmd, "mkdir -p " ADDED " && ");
		put_fetch(&cmd, f, q_url, ADDED "file");
		buf_z(&cmd, " && ");
		put_unpack(&cmd, f, q_to);
		return add_run(f->pl, &cmd);
	}
	buf_fmt(&cmd,
	    "t=%s; case $t in */) mkdir -p \"$t\";; esac; [ ! -d \"$t\" ] || t=${t%%/}/%s; mkdir -p \"$(dirname "
	    "\"$t\")\" && ",
	    q_to, q_name);
	put_fetch(&cmd, f, q_url, "\"$t\"");
	if (!*f->chmod)
		buf_z(&cmd, " && chmod 600 \"$t\""); /* as in Docker */
	put_owner(&cmd, f, "\"$t\"");
	return add_run(f->pl, &cmd);
}

/* ADD unpacks an archive from the context. */
static int add_archive(const struct files *f, const char *source, const char *dest)
{
	const struct files plain = { .pl = f->pl,
		.in = f->in,
		.stage = f->stage,
		.chown = (char[]) { "" },
		.chmod = (char[]) { "" },
		.exclude = f->exclude };
	autofree char *q_to = plan_quote(dest);
	autobuf struct buf cmd = BUF_INIT(PLAN_TEXT_MAX);

	if (!q_to)
		return plan_no_memory(f->pl);
	put_unpack(&cmd, f, q_to);
	return copy_step(&plain, PLAN_CONTEXT, source, NULL, ADDED) < 0 ? -f->pl->e->no : add_run(f->pl, &cmd);
}

static bool is_url(const char *source)
{
	return strncmp(source, "http://", 7) == 0 || strncmp(source, "https://", 8) == 0;
}

static bool is_git(const char *source)
{
	return strncmp(source, "git@", 4) == 0 || strncmp(source, "git://", 6) == 0 ||
	    strncmp(source, "ssh://", 6) == 0 ||
	    (is_url(source) && (str_ends(str_of(source), ".git") || strstr(source, ".git#")));
}

static int check_git(const struct files *f, struct str url, struct str name)
{
	unsigned line = f->in->line;

	if (f->checksum) /* it would not be verified */
		return err_set(f->pl->e, EINVAL,
		    "line %u: --checksum is not supported for a repository: append '#COMMIT' to its URL", line);
	if (f->exclude)
		return err_set(f->pl->e, EINVAL,
		    "line %u: --exclude is not supported for a repository: append '#REF:DIRECTORY' to its URL", line);
	if (!str_starts(url, "http") && !str_starts(url, "git://"))
		return err_set(f->pl->e, EINVAL,
		    "line %u: ADD of a repository over SSH is not supported: a step has no keys", line);
	if (str_starts(name, "-")) /* git would parse it as an option */
		return err_set(f->pl->e, EINVAL, "line %u: '%.*s' is not a valid branch, tag or commit", line,
		    STR_ARG(name));
	return 0;
}

/* Plans ADD of "URL#REF:DIR". The repository is cloned inside, with the git of the image. */
static int add_git(const struct files *f, const char *source, const char *dest)
{
	struct str ref = str_of(source), url = str_cut(&ref, '#'), dir = ref,
		   name = dir.p ? str_cut(&dir, ':') : STR_NULL;
	autofree char *z_url = str_dup(url), *z_name = str_dup(name.n ? name : STR_LIT("HEAD")),
		      *z_dir = str_dup(dir.n ? dir : STR_LIT("."));
	autofree char *q_url = z_url ? plan_quote(z_url) : NULL, *q_name = z_name ? plan_quote(z_name) : NULL,
		      *q_dir = z_dir ? plan_quote(z_dir) : NULL;
	autofree char *q_to = plan_quote(dest);
	autobuf struct buf cmd = BUF_INIT(PLAN_TEXT_MAX);

	if (!q_url || !q_name || !q_dir || !q_to)
		return plan_no_memory(f->pl);
	if (check_git(f, url, name) < 0)
		return -f->pl->e->no;
	/* cd runs in a subshell: the destination may be relative to the step's working directory. */
	buf_fmt(&cmd,
	    "command -v git >/dev/null || { echo 'ADD of a repository requires git in the image' >&2; exit 1; }; "
	    "r=" ADDED "git; umask 022; "
	    "export GIT_TERMINAL_PROMPT=0; git init -q \"$r\" && (cd \"$r\" && git remote add origin %s && "
	    "if git fetch -q --depth 1 origin %s 2>/dev/null || git fetch -q origin %s; then git checkout -q "
	    "FETCH_HEAD; " /* a branch or tag; else a commit */
	    "else git fetch -q --tags origin '+refs/heads/*:refs/remotes/origin/*' && git checkout -q --detach %s; fi "
	    "&& "
	    "git submodule -q update --init --recursive",
	    q_url, q_name, q_name, q_name);
	if (!f->keep_git)
		buf_z(&cmd, " && find . -name .git -prune -exec rm -rf {} +"); /* in submodules, .git is a file */
	buf_z(&cmd, ")");
	put_owner(&cmd, f, "\"$r\"");
	buf_fmt(&cmd, " && mkdir -p %s && cp -a -- \"$r\"/%s/. %s && rm -rf " ADDED, q_to, q_dir, q_to);
	return add_run(f->pl, &cmd);
}

/* Finds the heredoc for "<<NAME" or "<<-NAME", without quotes. Returns NULL if source is a file. */
static const struct df_doc *doc_of(const struct df_instr *in, const char *source)
{
	const char *name = strncmp(source, "<<", 2) != 0 ? NULL : source[2] == '-' ? source + 3 : source + 2;

	for (size_t i = 0; name && i < in->n_docs; i++) {
		if (strcmp(in->docs[i].name, name) == 0)
			return &in->docs[i];
	}
	return NULL;
}

/* server_dest is the destination in the form that the server expects; dest has all variables expanded, for commands. */
static int plan_one(const struct files *f, const char *source, const char *server_dest, const char *dest)
{
	const struct df_instr *in = f->in;

	const struct df_doc *doc = doc_of(in, source);

	if (doc) {
		autofree char *body = doc->expand ? plan_expand(f->pl, doc->body) : strdup(doc->body);

		return body ? copy_step(f, PLAN_CONTEXT, doc->name, body, server_dest) : plan_no_memory(f->pl);
	}
	if (in->kind == DF_ADD && is_git(source))
		return add_git(f, source, dest);
	if (in->kind == DF_ADD && is_url(source))
		return add_url(f, source, dest);
	if (f->checksum)
		return err_set(f->pl->e, EINVAL, "line %u: --checksum applies only to a URL", in->line);
	if (in->kind == DF_ADD && is_archive(source) && !is_false(df_flag_get(in, "unpack")))
		return add_archive(f, source, dest);
	return copy_step(f, f->stage, source, NULL, server_dest);
}

static int check_checksum(struct files *f)
{
	f->checksum = df_flag_get(f->in, "checksum");
	if (!f->checksum)
		return 0;
	if (strncmp(f->checksum, "sha256:", 7) != 0 || strlen(f->checksum + 7) != 64 ||
	    strspn(f->checksum + 7, "0123456789abcdef") != 64)
		return err_set(f->pl->e, EINVAL, "line %u: --checksum must be sha256: and 64 hex digits", f->in->line);
	f->checksum += 7;
	return 0;
}

static int check_flags(struct files *f)
{
	static const struct {
		const char *name;
		bool copy, add;
	} known[] = {
		{ "from", true, false },
		{ "chown", true, true },
		{ "chmod", true, true },
		{ "link", true, true },
		{ "parents", true, false },
		{ "exclude", true, true },
		{ "checksum", false, true },
		{ "keep-git-dir", false, true },
		{ "unpack", false, true },
	};

	for (size_t i = 0; i < f->in->n_flags; i++) {
		const char *name = f->in->flags[i].name;
		bool ok = false;

		for (size_t k = 0; k < ARRAY_LEN(known); k++)
			ok = ok ||
			    (strcmp(name, known[k].name) == 0 &&
				(f->in->kind == DF_ADD ? known[k].add : known[k].copy));
		if (!ok)
			return err_set(f->pl->e, EINVAL, "line %u: %s --%.40s is not supported", f->in->line,
			    f->in->keyword, name);
	}
	const char *parents = df_flag_get(f->in, "parents"), *keep_git = df_flag_get(f->in, "keep-git-dir");

	f->parents = parents && !is_false(parents);
	f->keep_git = keep_git && !is_false(keep_git);
	return check_checksum(f);
}

/* Collects the --exclude flags as lines of a .dockerignore. */
static int take_excludes(struct files *f)
{
	autobuf struct buf b = BUF_INIT(PLAN_TEXT_MAX);

	for (size_t i = 0; i < f->in->n_flags; i++) {
		autofree char *value = strcmp(f->in->flags[i].name, "exclude") == 0
		    ? plan_expand(f->pl, f->in->flags[i].value)
		    : NULL;

		if (value)
			buf_fmt(&b, "%s\n", value);
	}
	if (b.n == 0)
		return 0;
	if (df_flag_get(f->in, "from"))
		return err_set(f->pl->e, EINVAL, "line %u: COPY --exclude is not supported with --from", f->in->line);
	f->exclude = b.bad ? NULL : str_dup(buf_view(&b));
	return f->exclude ? 0 : plan_no_memory(f->pl);
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
	if (f->chmod[0] && mode_change(f->chmod, 0, false, &(mode_t) { 0 }) < 0)
		return err_set(f->pl->e, EINVAL, "line %u: --chmod=%.40s is not a valid mode", in->line, f->chmod);
	if (in->n_words > 2 && !str_ends(str_of(dest), "/") && strcmp(dest, ".") != 0)
		return err_set(f->pl->e, EINVAL,
		    "line %u: with several sources the destination must be a directory and end with /", in->line);
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
	int r = !f.chown || !f.chmod ? plan_no_memory(pl) : take_excludes(&f) < 0 ? -pl->e->no : plan_all_of(&f);

	free(f.exclude);
	free(f.chown);
	free(f.chmod);
	return r;
}

int plan_copy_aside(struct planner *pl, const struct df_instr *in, const char *from, const char *source,
    const char *dest)
{
	struct files f = { .pl = pl,
		.in = in,
		.stage = PLAN_CONTEXT,
		.chown = (char[]) { "" },
		.chmod = (char[]) { "" } };

	if (from && stage_of(pl, in, from, &f.stage) < 0)
		return -pl->e->no;
	return copy_step(&f, f.stage, source, NULL, dest);
}
