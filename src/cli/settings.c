/* SPDX-License-Identifier: Apache-2.0 */
/* cli/settings: chooses the server and the API key. */
#include "cli/settings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"

int settings_read_line(const char *dir, const char *name, char **ret)
{
	autofree char *path = str_fmt("%s/%s", dir, name);
	char text[1024];

	if (!path)
		return -ENOMEM;
	ssize_t n = file_read(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	struct str rest = { text, (size_t)n };
	struct str line = str_trim(str_cut(&rest, '\n'));
	if (line.n == 0 || memchr(line.p, '\0', line.n))
		return -EBADMSG;
	*ret = str_dup(line);
	return *ret ? 0 : -ENOMEM;
}

void settings_done(struct settings *s)
{
	if (s->api_key)
		explicit_bzero(s->api_key, strlen(s->api_key));
	free(s->api_key);
	free(s->api_url);
	free(s->sandbox_url);
	free(s->domain);
	*s = SETTINGS_NONE;
}

/* Returns the option, else the variable if it is set and not empty, else NULL. If a state directory was given as an
 * option, the variable is ignored. */
static const char *pick(const char *option, const char *variable, bool state_given)
{
	const char *z = state_given ? NULL : getenv(variable);

	return option ? option : z && *z ? z : NULL;
}

static int from_state(const char *dir, const char *name, const char *what, const char *variable, char **ret,
    struct err *e)
{
	int rc = settings_read_line(dir, name, ret);

	if (rc == 0)
		return 0;
	if (rc == -EACCES)
		return err_set(e, EACCES, "no %s: only root can read '%s/%s'; set %s, or use sudo", what, dir, name,
		    variable);
	if (rc == -ENOENT || rc == -ENOTDIR)
		return err_set(e, ENOENT, "no %s: set %s, or start a local server ('%s/%s' does not exist)", what,
		    variable, dir, name);
	return err_set(e, -rc, "no %s: read '%s/%s': %s", what, dir, name, strerrordesc_np(-rc));
}

int settings_load(const struct settings_opts *o, struct settings *ret, struct err *e)
{
	const char *dir = o->state_dir ? o->state_dir : STATE_DIR_DEFAULT;
	const char *url = pick(o->api_url, "E2B_API_URL", o->state_dir);
	const char *key = pick(o->api_key, "E2B_API_KEY", o->state_dir);
	const char *sandbox_url = pick(o->sandbox_url, "E2B_SANDBOX_URL", o->state_dir || o->api_url);
	const char *domain = url ? NULL : pick(NULL, "E2B_DOMAIN", o->state_dir);
	autosettings struct settings s = SETTINGS_NONE;

	if (domain && !(s.domain = strdup(domain)))
		return err_set(e, ENOMEM, "out of memory");
	if (url && !(s.api_url = strdup(url)))
		return err_set(e, ENOMEM, "out of memory");
	if (key && !(s.api_key = strdup(key)))
		return err_set(e, ENOMEM, "out of memory");
	if (!s.api_key && from_state(dir, "key", "API key", "E2B_API_KEY", &s.api_key, e) < 0)
		return -e->no;
	if (!s.api_url && !domain && from_state(dir, "url", "API URL", "E2B_API_URL", &s.api_url, e) < 0)
		return -e->no;
	if (!sandbox_url)
		sandbox_url = s.api_url;
	if (sandbox_url && !(s.sandbox_url = strdup(sandbox_url)))
		return err_set(e, ENOMEM, "out of memory");
	*ret = s;
	s = SETTINGS_NONE;
	return 0;
}

int settings_connect(const struct settings_opts *o, struct atoll **ret)
{
	autosettings struct settings s = SETTINGS_NONE;
	struct err e = ERR_INIT;
	struct atoll_error ae;
	const char *variable = getenv("ATOLL_MOCK");
	bool mock = o->mock || (variable && strcmp(variable, "1") == 0);

	if (!mock && settings_load(o, &s, &e) < 0)
		return fail("%s", e.text);
	if (o->mock)
		say("--mock: no server is used, and nothing is executed");
	struct atoll_config cfg = { .api_url = s.api_url,
		.sandbox_url = s.sandbox_url,
		.api_key = s.api_key,
		.domain = s.domain,
		.mock = o->mock };
	if (atoll_new(&cfg, ret, &ae) < 0)
		return fail("%s", ae.text);
	return 0;
}

int verb_parse(const struct verb *v, const struct opt *opts, size_t n, int end_after, int argc, char **argv,
    int *ret_operands)
{
	struct err e = ERR_INIT;
	int rc = opts_parse(opts, n, end_after, argc, argv, ret_operands, &e);

	if (rc < 0)
		return usage_error(v, "%s", e.text);
	if (rc == OPTS_HELP) {
		(void)printf("usage: atoll %s %s\n\n%s.\n\n%s", v->name, v->synopsis, v->summary, v->help);
		return 0;
	}
	return -1;
}

int verb_operands(const struct verb *v, const struct opt *opts, size_t n, struct operands want, int argc, char **argv,
    int *ret_operands)
{
	int rc = verb_parse(v, opts, n, OPTS_MIXED, argc, argv, ret_operands);

	if (rc >= 0)
		return rc;
	if (*ret_operands < want.min)
		return usage_error(v, "%s", want.missing);
	if (*ret_operands > want.max)
		return usage_error(v, "unexpected argument '%s'", argv[want.max]);
	return -1;
}

int verb_connect(const struct verb *v, const struct opt *opts, size_t n, const struct settings_opts *conn,
    struct operands want, int argc, char **argv, int *ret_operands, struct atoll **ret)
{
	int rc = verb_operands(v, opts, n, want, argc, argv, ret_operands);

	if (rc >= 0)
		return rc;
	rc = settings_connect(conn, ret);
	return rc == 0 ? -1 : rc;
}

int verb_plain(const struct verb *v, struct operands want, int argc, char **argv, bool *json, int *ret_operands,
    struct atoll **ret)
{
	struct settings_opts conn = { NULL };
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "json", 0, OPT_FLAG, json } };
	int n;

	return verb_connect(v, opts, ARRAY_LEN(opts) - (json ? 0 : 1), &conn, want, argc, argv,
	    ret_operands ? ret_operands : &n, ret);
}

void connection_cleanup(struct atoll **a)
{
	if (*a)
		atoll_free(*a);
}
