/* SPDX-License-Identifier: Apache-2.0 */
/* atoll env: prints the environment variables that point an E2B SDK at the server, for each way to connect. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/host/tls.h"
#include "cli/settings.h"

#define VARS_MAX 12

enum way { WAY_URL, WAY_TLS, WAY_DEBUG, WAYS };

static const char *const way_name[WAYS] = { [WAY_URL] = "url", [WAY_TLS] = "tls", [WAY_DEBUG] = "debug" };

/* Variables that are unset if the chosen way does not set them: a value left over from another way would mislead
 * clients. */
static const char *const all_vars[] = { "E2B_API_URL", "E2B_SANDBOX_URL", "E2B_VOLUME_API_URL", "E2B_DOMAIN",
	"E2B_DEBUG" };

struct var {
	const char *name;
	char *value;
};

struct vars {
	struct var v[VARS_MAX];
	size_t n;
};

static void vars_done(struct vars *vs)
{
	for (size_t i = 0; i < vs->n; i++)
		free(vs->v[i].value);
}
#define autovars __attribute__((cleanup(vars_done)))

static void add(struct vars *vs, const char *name, const char *dir, const char *value)
{
	vs->v[vs->n++] = (struct var) { name, dir ? str_fmt("%s/%s", dir, value) : strdup(value) };
}

/* Adds the domain of the sandboxes' host names and the CA certificates that clients need to verify them. */
static int add_tls(struct vars *vs, const char *state, struct err *e)
{
	autofree char *dir = str_fmt("%s/tls", state);
	autofree char *domain = NULL, *url = NULL, *certs = NULL;

	if (!dir)
		return err_set(e, ENOMEM, "out of memory");
	if (settings_read_line(state, "domain", &domain) == 0)
		add(vs, "E2B_DOMAIN", NULL, domain);
	if (!domain || settings_read_line(state, "tls-url", &url) < 0)
		return err_set(e, ENOENT, "the server at '%s' has no TLS: start it with --tls-listen ADDRESS:PORT",
		    state);
	/* Without this file, the operator provides the certificate, and clients already trust its issuer. */
	if (settings_read_line(dir, "public", &certs) < 0)
		return 0;
	add(vs, "NODE_EXTRA_CA_CERTS", certs, "ca.pem");
	add(vs, "DENO_CERT", certs, "ca.pem");
	add(vs, "SSL_CERT_FILE", certs, "bundle.pem");
	add(vs, "REQUESTS_CA_BUNDLE", certs, "bundle.pem");
	add(vs, "CURL_CA_BUNDLE", certs, "bundle.pem");
	return 0;
}

/* Adds one URL for clients that support E2B_SANDBOX_URL, and the domain for other clients and for getHost(). Without
 * TLS, only those host names do not work. */
static int add_url(struct vars *vs, const char *state, const struct settings *s)
{
	struct err none = ERR_INIT;

	add(vs, "E2B_API_URL", NULL, s->api_url);
	add(vs, "E2B_SANDBOX_URL", NULL, s->sandbox_url);
	add(vs, "E2B_VOLUME_API_URL", NULL, s->api_url);
	(void)add_tls(vs, state, &none);
	return 0;
}

/* Warns on stderr, because a shell evaluates stdout. */
static void warn_of_names(const struct vars *vs)
{
	for (size_t i = 0; i < vs->n; i++) {
		if (strcmp(vs->v[i].name, "E2B_DOMAIN") != 0 || !vs->v[i].value || tls_names_resolve(vs->v[i].value))
			continue;
		say("names under %s do not resolve on this machine, so getHost() and SDKs before 2.7 will not work; "
		    "see 'atoll doctor'",
		    vs->v[i].value);
	}
}

static int add_debug(struct vars *vs, const char *state, struct err *e)
{
	autofree char *on = NULL;

	if (settings_read_line(state, "debug", &on) < 0)
		return err_set(e, ENOENT, "the server at '%s' has no debug ports: start it with --debug-ports", state);
	add(vs, "E2B_DEBUG", NULL, "true");
	return 0;
}

static int collect(struct vars *vs, enum way w, const char *state, const struct settings *s, struct err *e)
{
	add(vs, "E2B_API_KEY", NULL, s->api_key);
	if (w == WAY_TLS)
		return add_tls(vs, state, e);
	if (w == WAY_DEBUG)
		return add_debug(vs, state, e);
	return add_url(vs, state, s);
}

/* Prints an assignment for a shell's eval. Within single quotes, only the single quote is special. */
static void print_export(const char *name, const char *value)
{
	(void)printf("export %s='", name);
	for (; *value; value++) {
		if (*value == '\'')
			(void)fputs("'\\''", stdout);
		else
			(void)putchar(*value);
	}
	(void)puts("'");
}

static bool has(const struct vars *vs, const char *name)
{
	for (size_t i = 0; i < vs->n; i++) {
		if (strcmp(vs->v[i].name, name) == 0)
			return true;
	}
	return false;
}

static int print_way(enum way w, const char *state, const struct settings *s)
{
	autovars struct vars vs = { .n = 0 };
	struct err e = ERR_INIT;

	if (collect(&vs, w, state, s, &e) < 0)
		return fail("%s", e.text);
	for (size_t i = 0; i < vs.n; i++)
		print_export(vs.v[i].name, vs.v[i].value ? vs.v[i].value : "");
	(void)fputs("unset", stdout);
	for (size_t i = 0; i < ARRAY_LEN(all_vars); i++) {
		if (!has(&vs, all_vars[i]))
			(void)printf(" %s", all_vars[i]);
	}
	(void)putchar('\n');
	if (w != WAY_DEBUG)
		warn_of_names(&vs);
	return 0;
}

/* Prints the variables of each way; null for ways that this server does not offer. */
static int print_json(const char *state, const struct settings *s)
{
	json_t *all = json_object();

	for (int w = 0; w < WAYS; w++) {
		autovars struct vars vs = { .n = 0 };
		struct err e = ERR_INIT;
		bool is_there = collect(&vs, (enum way)w, state, s, &e) == 0;
		json_t *one = is_there ? json_object() : json_null();

		for (size_t i = 0; is_there && i < vs.n; i++)
			(void)json_object_set_new(one, vs.v[i].name, json_string(vs.v[i].value ? vs.v[i].value : ""));
		(void)json_object_set_new(all, way_name[w], one);
	}
	char *text = json_dumps(all, JSON_INDENT(2));
	json_decref(all);
	if (!text)
		return fail("out of memory");
	(void)puts(text);
	free(text);
	return 0;
}

/* Replaces the admin key by the key for SDKs, which has no admin rights. A server not restarted since an upgrade has
 * none yet. */
static int use_sdk_key(const char *state, struct settings *s, struct err *e)
{
	char *key = NULL;
	int rc = settings_read_line(state, "sdk-key", &key);

	if (rc == -ENOENT) {
		say("'%s/sdk-key' does not exist, so this is the admin key; restart the server to create it", state);
		return 0;
	}
	if (rc < 0)
		return err_set(e, -rc, "read '%s/sdk-key': %s", state, strerrordesc_np(-rc));
	explicit_bzero(s->api_key, strlen(s->api_key));
	free(s->api_key);
	s->api_key = key;
	return 0;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { .state_dir = STATE_DIR_DEFAULT };
	autosettings struct settings s = SETTINGS_NONE;
	struct err e = ERR_INIT;
	bool tls = false, debug = false, json = false, admin = false;
	const struct opt opts[] = {
		{ "state", 0, OPT_STR, &conn.state_dir },
		{ "tls", 0, OPT_FLAG, &tls },
		{ "debug", 0, OPT_FLAG, &debug },
		{ "json", 0, OPT_FLAG, &json },
		{ "admin", 0, OPT_FLAG, &admin },
	};
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	if (tls + debug + json > 1)
		return usage_error(v, "--tls, --debug and --json are mutually exclusive");
	if (settings_load(&conn, &s, &e) < 0 || (!admin && use_sdk_key(conn.state_dir, &s, &e) < 0))
		return fail("%s", e.text);
	if (json)
		return print_json(conn.state_dir, &s);
	return print_way(tls ? WAY_TLS : debug ? WAY_DEBUG : WAY_URL, conn.state_dir, &s);
}

const struct verb verb_env = {
	.name = "env",
	.summary = "Print the variables that point an E2B SDK at the local server",
	.synopsis = "[--tls | --debug | --json] [--admin] [--state DIR]",
	.help = "Usage: eval \"$(sudo atoll env)\"\n"
		"\n"
		"By default, prints what any SDK needs. SDKs since 2.7 use one URL. Older ones, and\n"
		"getHost(), use host names over TLS, which the server provides unless local_tls is off in\n"
		"atoll.conf(5).\n"
		"\n"
		"      --tls        host names over TLS for every SDK\n"
		"      --debug      the fixed ports of E2B_DEBUG (the server needs --debug-ports)\n"
		"      --json       all three as a JSON object\n"
		"      --admin      use the server's admin key, which has full access to all teams; without\n"
		"                   this option, the key is a regular key of the default team\n"
		"      --state DIR  state directory of the server (default: " STATE_DIR_DEFAULT ")\n",
	.run = run,
};
