/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan_mounts: RUN --mount: files that exist during one command and are not in the template.
 *
 * Nothing is mounted. The files are moved into place before the command, and the previous ones are moved back after
 * it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "cli/template/build_plan_impl.h"

#define ASIDE "/.atoll-mount"

struct mount {
	char *type, *target, *source, *from; /* NULL if not given */
	char *mode, *uid, *gid;              /* for a cache */
};

static void mount_done(struct mount *m)
{
	free(m->type);
	free(m->target);
	free(m->source);
	free(m->from);
	free(m->mode);
	free(m->uid);
	free(m->gid);
}
#define automount __attribute__((cleanup(mount_done)))

static int bad(struct planner *pl, const struct df_instr *in, const char *value, const char *why)
{
	return err_set(pl->e, EINVAL, "line %u: RUN --mount=%.60s %s", in->line, value, why);
}

/* Returns where to store an option, or NULL if it is ignored. *ret_known is true if Docker has the option. */
static char **place_of(struct mount *m, struct str name, bool *ret_known)
{
	static const struct {
		const char *name;
		size_t at;
	} places[] = {
		{ "type", offsetof(struct mount, type) },
		{ "target", offsetof(struct mount, target) },
		{ "dst", offsetof(struct mount, target) },
		{ "destination", offsetof(struct mount, target) },
		{ "source", offsetof(struct mount, source) },
		{ "src", offsetof(struct mount, source) },
		{ "from", offsetof(struct mount, from) },
		{ "mode", offsetof(struct mount, mode) },
		{ "uid", offsetof(struct mount, uid) },
		{ "gid", offsetof(struct mount, gid) },
	};
	static const char *const others[] = { "rw", "readwrite", "ro", "readonly", "id", "sharing", "size" };

	*ret_known = true;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (str_ieq(name, str_of(places[i].name)))
			return (char **)((char *)m + places[i].at);
	}
	*ret_known = false;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		*ret_known = *ret_known || str_ieq(name, str_of(others[i]));
	return NULL;
}

static int read_mount(struct planner *pl, const struct df_instr *in, const char *text, struct mount *m)
{
	struct str rest = str_of(text);

	while (rest.p) {
		struct str value = str_cut(&rest, ','), name = str_cut(&value, '=');
		bool known;
		char **to = place_of(m, str_trim(name), &known);

		if (!known)
			return bad(pl, in, text, "is not supported");
		if (!to)
			continue;
		autofree char *raw = value.p ? str_dup(value) : NULL;

		free(*to);
		*to = raw ? plan_expand(pl, raw) : NULL;
		if (!*to)
			return raw ? plan_no_memory(pl) : bad(pl, in, text, "has an option without a value");
	}
	return 0;
}

/* Returns the target for the shell of a step, which runs in the command's directory: "$PWD", "$PWD"/'below' or
 * '/path'. */
static char *shell_path(const char *target)
{
	struct str s = str_of(target);

	while (s.n > 1 && (s.p[s.n - 1] == '/' || (s.p[s.n - 1] == '.' && s.p[s.n - 2] == '/')))
		s.n--;
	while (str_starts(s, "./"))
		str_skip(&s, 2);
	if (s.n == 0 || str_eq(s, STR_LIT(".")))
		return strdup("\"$PWD\"");
	autofree char *own = str_dup(s), *quoted = own ? plan_quote(own) : NULL;

	return !quoted ? NULL : s.p[0] == '/' ? strdup(quoted) : str_fmt("\"$PWD\"/%s", quoted);
}

/* i: index of the flag, used in the name of the temporary file. */
static int put_bind(struct planner *pl, const struct df_instr *in, const struct mount *m, size_t i,
    struct plan_around *a)
{
	autofree char *to = shell_path(m->target), *aside = str_fmt(ASIDE "/%zu", i);
	bool empty = strcmp(m->type, "tmpfs") == 0;

	if (!to || !aside)
		return plan_no_memory(pl);
	if (!empty && plan_copy_aside(pl, in, m->from, m->source ? m->source : ".", aside) < 0)
		return -pl->e->no;
	autofree char *after = a->after.n ? str_dup(buf_view(&a->after)) : strdup(""); /* undo in reverse order */

	buf_fmt(&a->before,
	    "%st=%s && mkdir -p " ASIDE
	    " \"$(dirname \"$t\")\" && if [ -e \"$t\" ] || [ -L \"$t\" ]; then mv \"$t\" %s.was; fi",
	    a->before.n ? " && " : "", to, aside);
	if (empty)
		buf_fmt(&a->before, " && mkdir -m 1777 \"$t\"");
	else
		buf_fmt(&a->before, " && mv %s \"$t\"", aside);
	a->after.n = 0;
	buf_fmt(&a->after,
	    "t=%s && rm -rf \"$t\" && if [ -e %s.was ] || [ -L %s.was ]; then mv %s.was \"$t\"; fi && %s", to, aside,
	    aside, aside, after ? after : "");
	return after && !a->before.bad && !a->after.bad ? 0 : plan_no_memory(pl);
}

/* A cache is an ordinary directory, which is created if it is missing. */
static int put_cache(struct planner *pl, const struct df_instr *in, const struct mount *m, struct plan_around *a)
{
	autofree char *to = shell_path(m->target);
	const char *const numbers[] = { m->mode, m->uid, m->gid };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (numbers[i] && (!*numbers[i] || strspn(numbers[i], "0123456789") != strlen(numbers[i])))
			return bad(pl, in, m->target, "has a mode, uid or gid that is not a number");
	}
	buf_fmt(&a->before,
	    "%st=%s && if [ ! -d \"$t\" ]; then mkdir -p \"$t\" && chmod %s \"$t\" && chown %s:%s \"$t\"; fi",
	    a->before.n ? " && " : "", to ? to : "", m->mode ? m->mode : "755", m->uid ? m->uid : "0",
	    m->gid ? m->gid : "0");
	return to && !a->before.bad ? 0 : plan_no_memory(pl);
}

static int put_mount(struct planner *pl, const struct df_instr *in, const char *text, size_t i, struct plan_around *a)
{
	struct mount m automount = { 0 };

	if (strstr(text, "type=secret") || strstr(text, "type=ssh"))
		return bad(pl, in, text,
		    "is not supported: files of a step stay in its layer, so the secret would be in the template");
	if (read_mount(pl, in, text, &m) < 0)
		return -pl->e->no;
	if (!m.type && !(m.type = strdup("bind")))
		return plan_no_memory(pl);
	if (strcmp(m.type, "bind") != 0 && strcmp(m.type, "tmpfs") != 0 && strcmp(m.type, "cache") != 0)
		return bad(pl, in, text, "is not supported");
	if (!m.target || !*m.target || strcmp(m.target, "/") == 0)
		return bad(pl, in, text, "needs a target");
	if (strcmp(m.type, "cache") == 0)
		return put_cache(pl, in, &m, a);
	if (m.from && (!m.source || strcmp(m.source, "/") == 0 || !*m.source))
		return bad(pl, in, text, "needs a source; the whole image is not allowed");
	return put_bind(pl, in, &m, i, a);
}

int plan_mounts(struct planner *pl, const struct df_instr *in, struct plan_around *ret)
{
	for (size_t i = 0; i < in->n_flags; i++) {
		if (strcmp(in->flags[i].name, "mount") == 0 && put_mount(pl, in, in->flags[i].value, i, ret) < 0)
			return -pl->e->no;
	}
	if (ret->after.n)
		buf_z(&ret->after, "rm -rf " ASIDE);
	return ret->after.bad ? plan_no_memory(pl) : 0;
}
