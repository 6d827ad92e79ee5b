/* SPDX-License-Identifier: Apache-2.0 */
/* config: the keys of ipc/settings.tbl in a file and on the command line, and what their values must have in common. */
#include "warden/config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "ipc/oidc.h"
#include "warden/config/key.h"

#define CONFIG_FILE_MAX (64 * 1024)
/* ready sandboxes per template after a burst, unless configured: by the number of processors, which limits how fast
 * missing ones are started */
#define WARM_POOL_PER_CPU 32
#define WARM_POOL_LEAST 64
#define WARM_POOL_MOST 500

#define FIELD(f) offsetof(struct config, f), sizeof(((struct config *)0)->f)
#define ROW(name, form, when, ...) { #name, FORM_##form, WHEN_##when, __VA_ARGS__ },

const struct config_key config_keys[] = {
#define TEXT(name, size, form, default_, to, when, help) ROW(name, form, when, FIELD(name), 0, 0, NULL, help)
#define PATH(name, default_, to, when, help) ROW(name, PATH, when, FIELD(name), 0, 0, NULL, help)
#define NUMBER(name, min, max, default_, to, when, help) ROW(name, NUMBER, when, FIELD(name), min, max, NULL, help)
#define FLAG(name, default_, to, when, help) ROW(name, FLAG, when, FIELD(name), 0, 0, NULL, help)
#define WORD(name, type, words, default_, to, when, help) ROW(name, WORD, when, FIELD(name), 0, 0, words, help)
#define RANGES(name, to, when, help) ROW(name, RANGES, when, FIELD(name), 0, 0, NULL, help)
#define LIST(name, form, to, when, help) ROW(name, form, when, 0, 0, 0, 0, NULL, help)
#define LIMIT(id, name, form, min, max, usual, most, optional, help) \
	ROW(default_##name, form, START, FIELD(defaults[id]), min, max, NULL, "if the client names none: " help) \
	ROW(max_##name, form, START, FIELD(maxima[id]), min, max, NULL, "at most: " help)
#include "ipc/settings.tbl"
};

const size_t config_n_keys = ARRAY_LEN(config_keys);

void config_defaults(struct config *c)
{
	uint64_t host_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000;

	*c = (struct config) {
#define TEXT(name, size, form, default_, ...) .name = default_,
#define PATH(name, default_, ...) .name = default_,
#define NUMBER(name, min, max, default_, ...) .name = default_,
#define FLAG(name, default_, ...) .name = default_,
#define WORD(name, type, words, default_, ...) .name = default_,
#define LIMIT(id, name, form, min, max, default_, most, ...) .maxima[id] = most,
#include "ipc/settings.tbl"
	};
	if (c->maxima[LIM_CPUS] < host_cpus)
		c->maxima[LIM_CPUS] = host_cpus;
}

/* A file says max_pids, the command line --max-pids: '-' and '_' are the same here. */
static bool key_is(const char *name, struct str given)
{
	size_t i;

	for (i = 0; i < given.n && name[i]; i++) {
		if (name[i] != (given.p[i] == '-' ? '_' : given.p[i]))
			return false;
	}
	return i == given.n && !name[i];
}

static const struct config_key *key_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(config_keys); i++) {
		if (key_is(config_keys[i].name, name))
			return &config_keys[i];
	}
	return NULL;
}

static const struct config_key *key_number(struct str name)
{
	const struct config_key *k = key_find(name);

	return k && (k->form == FORM_NUMBER || k->form == FORM_CPUS) ? k : NULL;
}

int config_number(struct str key, struct str value, uint64_t *ret)
{
	const struct config_key *k = key_number(key);

	return k ? config_value_number(k, value, ret) : -EINVAL;
}

static int key_set(struct config *c, const struct config_key *k, struct str value, struct err *e)
{
	int r = config_value_set(c, k, value);

	return r < 0 ? config_value_refuse(k, value, r, e) : 0;
}

int config_set(struct config *c, struct str key, struct str value, struct err *e)
{
	const struct config_key *k = key_find(key);

	if (!k || memchr(key.p, '-', key.n))
		return err_set(e, EINVAL, "unknown key '%.*s'", STR_ARG(key));
	if (k->when == WHEN_CLI)
		return err_set(e, EINVAL, "key '%s' is for the command line only", k->name);
	return key_set(c, k, value, e);
}

int config_text(struct config *c, struct str text, struct err *e)
{
	bool seen[ARRAY_LEN(config_keys)] = { false };

	for (unsigned line = 1; text.p; line++) {
		struct str rest = str_cut(&text, '\n');
		struct str value = rest = str_trim(rest);

		if (rest.n == 0 || rest.p[0] == '#')
			continue;
		struct str key = str_trim(str_cut(&value, '='));
		if (!value.p)
			return err_set(e, EINVAL, "line %u: '%.*s' is not of the form key = value", line,
			    STR_ARG(rest));
		if (config_set(c, key, str_trim(value), e) < 0)
			return err_wrap(e, "line %u", line);
		size_t i = (size_t)(key_find(key) - config_keys);
		if (seen[i] && config_keys[i].form != FORM_LIMITS)
			return err_set(e, EINVAL, "line %u: key '%s' is given twice", line, config_keys[i].name);
		seen[i] = true;
	}
	return 0;
}

static int load_file(struct config *c, const char *path, struct err *e)
{
	autofree char *text = malloc(CONFIG_FILE_MAX);

	if (!text)
		return err_set(e, ENOMEM, "read configuration '%s': out of memory", path);
	ssize_t n = file_read(AT_FDCWD, path, text, CONFIG_FILE_MAX);
	if (n < 0) {
		errno = (int)-n;
		return err_sys(e, "read configuration '%s'", path);
	}
	if (config_text(c, (struct str) { text, (size_t)n }, e) < 0)
		return err_wrap(e, "configuration '%s'", path);
	return 0;
}

/* One option at argv[*i]: `--key value`, `--key=value`, or a switch. With only_file set, handles --config and
 * skips everything else. */
static int take_option(struct config *c, int argc, char **argv, int *i, bool only_file, struct err *e)
{
	const char *arg = argv[*i];

	if (strcmp(arg, "--foreground") == 0) /* atolld never daemonizes; the option is accepted for clarity */
		return 0;
	if (strcmp(arg, "--version") == 0) {
		c->version = true;
		return 0;
	}
	if (strcmp(arg, "--help") == 0) {
		c->help = true;
		return 0;
	}
	if (strncmp(arg, "--", 2) != 0)
		return err_set(e, EINVAL, "unexpected argument '%s'", arg);
	struct str value = str_of(arg + 2);
	struct str name = str_cut(&value, '=');
	const struct config_key *k = memchr(name.p, '_', name.n) ? NULL : key_find(name);

	if (!k)
		return err_set(e, EINVAL, "unknown option '--%.*s'", STR_ARG(name));
	if (!value.p && k->form == FORM_FLAG) {
		const char *next = *i + 1 < argc ? argv[*i + 1] : "";
		bool said = strcmp(next, "true") == 0 || strcmp(next, "false") == 0;

		value = said ? str_of(argv[++*i]) : STR_LIT("true");
	} else if (!value.p) {
		if (*i + 1 >= argc)
			return err_set(e, EINVAL, "option '%s' wants a value", arg);
		value = str_of(argv[++*i]);
	}
	if (only_file != (strcmp(k->name, "config") == 0))
		return 0;
	return key_set(c, k, value, e);
}

static int take_options(struct config *c, int argc, char **argv, bool only_file, struct err *e)
{
	for (int i = 1; i < argc; i++) {
		if (take_option(c, argc, argv, &i, only_file, e) < 0)
			return -e->no;
	}
	return 0;
}

/* Returns whether only processes of this machine can connect to the address. What is not an address is rejected
 * later, when it is bound. */
static bool is_loopback(struct str listen)
{
	const char *colon = listen.n ? memrchr(listen.p, ':', listen.n) : NULL;
	struct str host = { listen.p, colon ? (size_t)(colon - listen.p) : 0 };
	char z[64];
	struct in_addr v4;

	if (str_is(host, "[::1]"))
		return true;
	return str_copy(z, sizeof z, host) && inet_pton(AF_INET, z, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

struct str config_next_word(struct str *list)
{
	struct str w = { NULL, 0 };

	while (list->p && w.n == 0)
		w = str_trim(str_cut(list, ' '));
	return w;
}

/* Rejects a setting that trusts every client unless all addresses are loopback addresses. */
static int all_loopback(const char *key, const char *listen_key, const char *listen, struct err *e)
{
	struct str rest = str_of(listen), w;

	while ((w = config_next_word(&rest)).n) {
		if (!is_loopback(w))
			return err_set(e, EINVAL, "%s = true: only with a loopback address in %s, not '%.*s'", key,
			    listen_key, STR_ARG(w));
	}
	return 0;
}

static int settle_tls(struct config *c, struct err *e)
{
	if (!c->tls_cert[0] != !c->tls_key[0])
		return err_set(e, EINVAL, "tls_cert and tls_key belong together: only %s is given",
		    c->tls_cert[0] ? "tls_cert" : "tls_key");
	if (c->tls_cert[0] && !c->tls_listen[0])
		return err_set(e, EINVAL, "tls_cert is given, but no tls_listen");
	return 0;
}

static uint64_t warm_pool_max(const struct config *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t max = cpus > 0 ? (uint64_t)cpus * WARM_POOL_PER_CPU : 0;

	max = max < WARM_POOL_LEAST ? WARM_POOL_LEAST : max > WARM_POOL_MOST ? WARM_POOL_MOST : max;
	return max > c->warm_pool_size ? max : c->warm_pool_size;
}

int config_settle(struct config *c, struct err *e)
{
	if (config_settle_limits(c, e) < 0)
		return -e->no;
	if (c->pool_size_mb && c->pool_max_mb && c->pool_size_mb > c->pool_max_mb)
		return err_set(e, EINVAL, "pool_size_mb is above pool_max_mb");
	if (!c->warm_pool_max)
		c->warm_pool_max = warm_pool_max(c);
	if (c->volume_size_mb > c->volume_max_mb)
		return err_set(e, EINVAL, "volume_size_mb is above volume_max_mb (%llu > %llu)",
		    (unsigned long long)c->volume_size_mb, (unsigned long long)c->volume_max_mb);
	if (c->warm_pool_size > c->warm_pool_max)
		return err_set(e, EINVAL, "warm_pool_size is above warm_pool_max (%llu > %llu)",
		    (unsigned long long)c->warm_pool_size, (unsigned long long)c->warm_pool_max);
	if (c->image_packages[strspn(c->image_packages, "abcdefghijklmnopqrstuvwxyz0123456789+.- ")])
		return err_set(e, EINVAL,
		    "image_packages = '%s': want names of Debian packages with blanks between them", c->image_packages);
	if (strcmp(c->image_packages, "none") == 0)
		c->image_packages[0] = '\0';
	c->webhook_allow_private = c->webhook_allow_private || c->webhook_allow_own;
	const char *trusting = c->open ? "open" : c->metrics_open ? "metrics_open" : NULL;

	if (trusting &&
	    (all_loopback(trusting, "listen", c->listen, e) < 0 ||
		all_loopback(trusting, "tls_listen", c->tls_listen, e) < 0))
		return -e->no;
	if (c->oidc_issuer[0] && oidc_settings_check(c->oidc_issuer, c->oidc_client_id, c->oidc_roles, e) < 0)
		return -e->no;
	return settle_tls(c, e);
}

int config_load(struct config *c, int argc, char **argv, struct err *e)
{
	config_defaults(c);
	if (take_options(c, argc, argv, true, e) < 0)
		return -e->no;
	if (c->config[0] && load_file(c, c->config, e) < 0)
		return -e->no;
	if (take_options(c, argc, argv, false, e) < 0)
		return -e->no;
	return config_settle(c, e);
}

void config_reload(struct config *c, const struct config *again)
{
	for (size_t i = 0; i < ARRAY_LEN(config_keys); i++) {
		const struct config_key *k = &config_keys[i];

		if (k->when == WHEN_RELOAD)
			memcpy((char *)c + k->at, (const char *)again + k->at, k->size);
	}
}
