/* SPDX-License-Identifier: Apache-2.0 */
/* config: one table of keys for the command line and the file. */
#include "warden/config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/defaults.h"
#include "base/fd.h"
#include "base/prices.h"
#include "ipc/check.h"

#define CONFIG_FILE_MAX (64 * 1024)
#define WARM_POOL_SIZE 4           /* ready sandboxes per template, */
#define WARM_POOL_MAX 32           /* and the maximum under load */
#define MB_MAX (16u * 1024 * 1024) /* 16 TiB: upper bound of every setting in megabytes */

enum kind {
	KIND_TEXT,
	KIND_PATH,
	KIND_NUMBER,
	KIND_CPUS,
	KIND_BOOL,
	KIND_STOP,
	KIND_LEVEL,
	KIND_TEMPLATE,
	KIND_RANGES,
	KIND_KEY,
	KIND_HOSTS,
	KIND_LIMITS,
	KIND_PRICES,
	KIND_AUDIT,
	KIND_AUDIT_CODE,
	KIND_TOKEN,
};

struct key {
	const char *name;
	enum kind kind;
	size_t at, size; /* the field in struct config */
	uint64_t min, max;
	bool cli_only; /* meaningless in the file, or needed to find the file */
};

#define FIELD(f) offsetof(struct config, f), sizeof(((struct config *)0)->f)

static const struct key keys[] = {
	{ "listen", KIND_TEXT, FIELD(listen) },
	{ "tls_listen", KIND_TEXT, FIELD(tls_listen) },
	{ "local_tls", KIND_BOOL, FIELD(local_tls) },
	{ "inside_names", KIND_BOOL, FIELD(inside_names) },
	{ "tls_cert", KIND_PATH, FIELD(tls_cert) },
	{ "tls_key", KIND_PATH, FIELD(tls_key) },
	{ "state", KIND_PATH, FIELD(state), .cli_only = true },
	{ "run", KIND_PATH, FIELD(run), .cli_only = true },
	{ "config", KIND_PATH, FIELD(file), .cli_only = true },
	{ "cache", KIND_PATH, FIELD(cache) },
	{ "libexec", KIND_PATH, FIELD(libexec), .cli_only = true },
	{ "front", KIND_PATH, FIELD(front), .cli_only = true },
	{ "egress", KIND_PATH, FIELD(egress), .cli_only = true },
	{ "agent", KIND_PATH, FIELD(agent), .cli_only = true },
	{ "init", KIND_PATH, FIELD(init), .cli_only = true },
	{ "restart_max_ms", KIND_NUMBER, FIELD(restart_max_ms), 0, 60000, .cli_only = true },
	{ "template", KIND_TEMPLATE, 0, 0, .cli_only = true },
	{ "tools", KIND_KEY, FIELD(tools), .cli_only = true },
	{ "domain", KIND_TEXT, FIELD(domain) },
	{ "user", KIND_TEXT, FIELD(user) },
	{ "egress_user", KIND_TEXT, FIELD(egress_user) },
	{ "hooks_user", KIND_TEXT, FIELD(hooks_user) },
	{ "pool_size_mb", KIND_NUMBER, FIELD(pool_size_mb), 256, MB_MAX },
	{ "pool_max_mb", KIND_NUMBER, FIELD(pool_max_mb), 256, MB_MAX },
	{ "no_pool", KIND_BOOL, FIELD(no_storage) },
	{ "cpu_weight", KIND_NUMBER, FIELD(cpu_weight), 1, 10000 },
	{ "mem_total_mb", KIND_NUMBER, FIELD(mem_total_mb), 64, MB_MAX },
	{ "max_sandboxes", KIND_NUMBER, FIELD(max_sandboxes), 1, 2000 },
	{ "warm_pool_size", KIND_NUMBER, FIELD(warm_pool_size), 0, 500 },
	{ "warm_pool_max", KIND_NUMBER, FIELD(warm_pool_max), 1, 500 },
	{ "max_timeout_s", KIND_NUMBER, FIELD(max_timeout_s), 1, 366 * 86400 },
	{ "checkpoint_after_s", KIND_NUMBER, FIELD(checkpoint_after_s), 0, 86400 },
	{ "image_map", KIND_TEXT, FIELD(image_map) },
	{ "image_packages", KIND_TEXT, FIELD(image_packages) },
	{ "prices", KIND_PRICES, FIELD(prices) },
	{ "events_kept_s", KIND_NUMBER, FIELD(events_kept_s), 0, 3660ull * 86400 },
	{ "webhook_timeout_s", KIND_NUMBER, FIELD(webhook_timeout_s), 1, 300 },
	{ "webhook_attempts", KIND_NUMBER, FIELD(webhook_attempts), 1, 20 },
	{ "webhook_retry_ms", KIND_NUMBER, FIELD(webhook_retry_ms), 10, 60000 },
	{ "webhook_allow_private", KIND_BOOL, FIELD(webhook_allow_private) },
	{ "webhook_allow_own", KIND_BOOL, FIELD(webhook_allow_own) },
	{ "webhook_ca_file", KIND_PATH, FIELD(webhook_ca_file) },
	{ "alert_memory_percent", KIND_NUMBER, FIELD(alert_memory_percent), 0, 100 },
	{ "alert_cpu_percent", KIND_NUMBER, FIELD(alert_cpu_percent), 0, 100 },
	{ "alert_disk_percent", KIND_NUMBER, FIELD(alert_disk_percent), 0, 100 },
	{ "alert_processes_percent", KIND_NUMBER, FIELD(alert_processes_percent), 0, 100 },
	{ "alert_egress_percent", KIND_NUMBER, FIELD(alert_egress_percent), 0, 100 },
	{ "registry_mirrors", KIND_TEXT, FIELD(registry_mirrors) },
	{ "registries", KIND_TEXT, FIELD(registries) },
	{ "image_max_mb", KIND_NUMBER, FIELD(image_max_mb), 1, MB_MAX },
	{ "image_cache_mb", KIND_NUMBER, FIELD(image_cache_mb), 1, MB_MAX },
	{ "template_cache_mb", KIND_NUMBER, FIELD(template_cache_mb), 1, MB_MAX },
	{ "template_uploads_mb", KIND_NUMBER, FIELD(template_uploads_mb), 1, MB_MAX },
	{ "template_upload_max_mb", KIND_NUMBER, FIELD(template_upload_max_mb), 1, MB_MAX },
	{ "build_timeout_s", KIND_NUMBER, FIELD(build_timeout_s), 1, 86400 },
	{ "ready_timeout_s", KIND_NUMBER, FIELD(ready_timeout_s), 1, 86400 },
	{ "history_kept_s", KIND_NUMBER, FIELD(history_kept_s), 0, 3660ull * 86400 },
	{ "paused_kept_s", KIND_NUMBER, FIELD(paused_kept_s), 0, 3660ull * 86400 },
	{ "snapshots_kept_s", KIND_NUMBER, FIELD(snapshots_kept_s), 0, 3660ull * 86400 },
	{ "max_lifetime_s", KIND_NUMBER, FIELD(max_lifetime_s), 0, 3660ull * 86400 },
	{ "logs_kept_s", KIND_NUMBER, FIELD(logs_kept_s), 0, 366 * 86400 },
	{ "logs_max_mb", KIND_NUMBER, FIELD(logs_max_mb), 1, MB_MAX },
	{ "audit_kept_s", KIND_NUMBER, FIELD(audit_kept_s), 0, 3660ull * 86400 },
	{ "audit_max_mb", KIND_NUMBER, FIELD(audit_max_mb), 1, MB_MAX },
	{ "audit_segment_kb", KIND_NUMBER, FIELD(audit_segment_kb), 16, 1 << 20 },
	{ "audit", KIND_AUDIT, FIELD(audit) },
	{ "audit_code", KIND_AUDIT_CODE, FIELD(audit_full) },
	{ "notebook_mb", KIND_NUMBER, FIELD(notebook_mb), 0, 1024 },
	{ "notebooks_max_mb", KIND_NUMBER, FIELD(notebooks_max_mb), 1, MB_MAX },
	{ "notebooks_kept_s", KIND_NUMBER, FIELD(notebooks_kept_s), 0, 366 * 86400 },
	{ "head_timeout_s", KIND_NUMBER, FIELD(head_timeout_s), 1, 3600 },
	{ "body_timeout_s", KIND_NUMBER, FIELD(body_timeout_s), 1, 3600 },
	{ "default_memory_mb", KIND_NUMBER, FIELD(defaults[LIM_MEMORY_MB]), 32, MB_MAX },
	{ "default_cpus", KIND_CPUS, FIELD(defaults[LIM_CPUS]), 50, 1024000 },
	{ "default_pids", KIND_NUMBER, FIELD(defaults[LIM_PIDS]), 16, 4194304 },
	{ "default_disk_mb", KIND_NUMBER, FIELD(defaults[LIM_DISK_MB]), 16, MB_MAX },
	{ "default_swap_mb", KIND_NUMBER, FIELD(defaults[LIM_SWAP_MB]), 0, MB_MAX },
	{ "default_open_files", KIND_NUMBER, FIELD(defaults[LIM_OPEN_FILES]), 64, 1u << 30 },
	{ "default_io_mb_s", KIND_NUMBER, FIELD(defaults[LIM_IO_MB_S]), 0, MB_MAX },
	{ "default_iops", KIND_NUMBER, FIELD(defaults[LIM_IOPS]), 0, 100000000 },
	{ "default_egress_mb", KIND_NUMBER, FIELD(defaults[LIM_EGRESS_MB]), 0, MB_MAX },
	{ "default_egress_kb_s", KIND_NUMBER, FIELD(defaults[LIM_EGRESS_KB_S]), 0, 1u << 30 },
	{ "max_memory_mb", KIND_NUMBER, FIELD(maxima[LIM_MEMORY_MB]), 32, MB_MAX },
	{ "max_cpus", KIND_CPUS, FIELD(maxima[LIM_CPUS]), 50, 1024000 },
	{ "max_pids", KIND_NUMBER, FIELD(maxima[LIM_PIDS]), 16, 4194304 },
	{ "max_disk_mb", KIND_NUMBER, FIELD(maxima[LIM_DISK_MB]), 16, MB_MAX },
	{ "max_swap_mb", KIND_NUMBER, FIELD(maxima[LIM_SWAP_MB]), 0, MB_MAX },
	{ "max_open_files", KIND_NUMBER, FIELD(maxima[LIM_OPEN_FILES]), 64, 1u << 30 },
	{ "max_io_mb_s", KIND_NUMBER, FIELD(maxima[LIM_IO_MB_S]), 0, MB_MAX },
	{ "max_iops", KIND_NUMBER, FIELD(maxima[LIM_IOPS]), 0, 100000000 },
	{ "max_egress_mb", KIND_NUMBER, FIELD(maxima[LIM_EGRESS_MB]), 0, MB_MAX },
	{ "max_egress_kb_s", KIND_NUMBER, FIELD(maxima[LIM_EGRESS_KB_S]), 0, 1u << 30 },
	{ "template_limits", KIND_LIMITS, 0, 0 },
	{ "open", KIND_BOOL, FIELD(open) },
	{ "core_scheduling", KIND_BOOL, FIELD(core_scheduling) },
	{ "own_view", KIND_BOOL, FIELD(own_view) },
	{ "explain_refusals", KIND_BOOL, FIELD(explain_refusals) },
	{ "debug_ports", KIND_BOOL, FIELD(debug_ports) },
	{ "metrics_open", KIND_BOOL, FIELD(metrics_open) },
	{ "text_from_stdout", KIND_BOOL, FIELD(text_from_stdout) },
	{ "interpreter_token", KIND_TOKEN, FIELD(interpreter_token) },
	{ "allow_private", KIND_RANGES, 0, 0 },
	{ "egress_ca_file", KIND_PATH, FIELD(egress_ca_file) },
	{ "agent_config", KIND_PATH, FIELD(agent_config) },
	{ "dns_servers", KIND_HOSTS, FIELD(dns_servers) },
	{ "rate_limit", KIND_NUMBER, FIELD(rate_limit), 0, 1000000 },
	{ "team_max_sandboxes", KIND_NUMBER, FIELD(team_max_sandboxes), 0, 2000 },
	{ "team_max_volumes", KIND_NUMBER, FIELD(team_max_volumes), 0, 10000 },
	{ "volume_size_mb", KIND_NUMBER, FIELD(volume_size_mb), 1, 1 << 20 },
	{ "volume_max_mb", KIND_NUMBER, FIELD(volume_max_mb), 1, 1 << 20 },
	{ "on_stop", KIND_STOP, FIELD(keep_on_stop) },
	{ "log_level", KIND_LEVEL, FIELD(log_level) },
};

void config_defaults(struct config *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*c = (struct config) {
		.listen = "127.0.0.1:8080",
		.local_tls = true,
		.inside_names = true,
		.state = "/var/lib/atoll",
		.run = "/run/atoll/main",
		.cache = "/var/cache/atoll",
		.user = "atoll",
		.egress_user = "atoll-egress",
		.hooks_user = "atoll-hooks",
		.events_kept_s = 7 * 86400,
		.webhook_timeout_s = 10,
		.webhook_attempts = 8,
		.webhook_retry_ms = 1000,
		.alert_memory_percent = 80,
		.alert_cpu_percent = 80,
		.alert_disk_percent = 80,
		.alert_processes_percent = 80,
		.alert_egress_percent = 80,
		.max_sandboxes = DEFAULT_MAX_SANDBOXES,
		.cpu_weight = 100,
		.warm_pool_size = WARM_POOL_SIZE,
		.max_timeout_s = 86400,
		.checkpoint_after_s = 5,
		.image_max_mb = 8192,
		.image_cache_mb = 10240,
		.image_packages = "sudo socat curl ca-certificates git less iputils-ping jq iproute2",
		.image_map = "e2bdev/base=base,e2bdev/code-interpreter=code-interpreter-v1,base=base",
		.template_cache_mb = 10240,
		.template_uploads_mb = 2048,
		.template_upload_max_mb = 1024,
		.build_timeout_s = 3600,
		.ready_timeout_s = 600,
		.logs_kept_s = 86400,
		.history_kept_s = 7 * 86400,
		.team_max_volumes = 100,
		.volume_size_mb = 1024,
		.volume_max_mb = 16384,
		.logs_max_mb = 256,
		.audit = AUDIT_ON,
		.audit_kept_s = 90 * 86400,
		.audit_max_mb = 4096,
		.audit_segment_kb = 16384,
		.notebook_mb = 16,
		.notebooks_max_mb = 1024,
		.notebooks_kept_s = 7 * 86400,
		.head_timeout_s = 30,
		.body_timeout_s = 60,
		.restart_max_ms = 2000,
		.maxima = {
			[LIM_MEMORY_MB] = 8192,
			[LIM_CPUS] = (cpus > 8 ? (uint64_t)cpus : 8) * 1000,
			[LIM_PIDS] = 4096,
			[LIM_DISK_MB] = 20480,
			[LIM_OPEN_FILES] = 1 << 20,
		},
		.log_level = LOG_LVL_INFO,
		.core_scheduling = true,
		.own_view = true,
		.explain_refusals = true,
		.interpreter_token = TOKEN_EXECUTE,
	};
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

static const struct key *key_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (key_is(keys[i].name, name))
			return &keys[i];
	}
	return NULL;
}

static int set_path(char *field, size_t size, struct str value)
{
	char cwd[PATH_MAX];

	if (value.n == 0 || memchr(value.p, '\0', value.n))
		return -EINVAL;
	while (value.n > 1 && value.p[value.n - 1] == '/')
		value.n--;
	if (value.p[0] == '/')
		return str_copy(field, size, value) ? 0 : -ENAMETOOLONG;
	if (!getcwd(cwd, sizeof cwd))
		return -errno;
	int n = snprintf(field, size, "%s/%.*s", cwd, STR_ARG(value));
	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* "2", "0.5", "1.25": thousandths of a core. */
static int parse_cpus(struct str v, uint64_t *ret)
{
	struct str rest = v;
	struct str whole = str_cut(&rest, '.');
	uint64_t w, f = 0;

	if (str_to_u64(whole, 100000, &w) < 0)
		return -EINVAL;
	if (rest.p) {
		if (rest.n < 1 || rest.n > 3 || str_to_u64(rest, 999, &f) < 0)
			return -EINVAL;
		for (size_t i = rest.n; i < 3; i++)
			f *= 10;
	}
	*ret = w * 1000 + f;
	return 0;
}

static int set_template(struct config *c, struct str value)
{
	struct str key = value;
	struct str name = str_cut(&key, '=');
	struct msg_template t = { 0 };

	if (c->n_templates == TEMPLATES_MAX)
		return -E2BIG;
	if (name.n == 0 || !key.p || !str_copy(t.name, sizeof t.name, name) || !str_copy(t.key, sizeof t.key, key) ||
	    !check_template_key(t.key))
		return -EINVAL;
	c->templates[c->n_templates++] = t;
	return 0;
}

/* Addresses and ranges, separated by commas or blanks. Ranges that are always closed cannot be opened here. */
static int set_ranges(struct config *c, struct str value)
{
	uint32_t n = 0;

	while (value.p) {
		struct str item = str_trim(str_cut(&value, ','));

		while (item.p && item.n > 0) {
			struct str word = str_cut(&item, ' ');

			if (word.n == 0)
				continue;
			if (n == CONFIG_RANGES_MAX)
				return -E2BIG;
			if (inet_parse(word, &c->allow_private[n]) < 0 || inet_never_open(c->allow_private[n]))
				return -EINVAL;
			n++;
		}
	}
	c->n_allow_private = n;
	return 0;
}

static const char
    *const audit_words[] = { [AUDIT_OFF] = "off", [AUDIT_ON] = "on", [AUDIT_REQUIRED] = "required", NULL };
static const char
    *const token_words[] = { [TOKEN_NONE] = "none", [TOKEN_EXECUTE] = "execute", [TOKEN_ALL] = "all", NULL };

/* One of a fixed list of words; the index of a word is the value of the enum. */
static int find_word(const char *const *words, struct str value)
{
	for (int i = 0; words[i]; i++) {
		if (str_is(value, words[i]))
			return i;
	}
	return -EINVAL;
}

static int set_audit(enum audit_mode *field, struct str value)
{
	int i = find_word(audit_words, value);

	if (i >= 0)
		*field = (enum audit_mode)i;
	return i < 0 ? i : 0;
}

static int set_token(enum token_need *field, struct str value)
{
	int i = find_word(token_words, value);

	if (i >= 0)
		*field = (enum token_need)i;
	return i < 0 ? i : 0;
}

/* Addresses, separated by commas or blanks; stored with commas. */
static int set_hosts(char *field, size_t size, struct str value)
{
	size_t n = 0;

	while (value.p) {
		struct str item = str_trim(str_cut(&value, ','));

		while (item.p && item.n > 0) {
			struct str word = str_cut(&item, ' ');
			struct inet_range r;

			if (word.n == 0)
				continue;
			if (memchr(word.p, '/', word.n) || (inet_parse(word, &r) < 0 && !inet_is_v6(word)) ||
			    n + word.n + 2 > size)
				return -EINVAL;
			n += (size_t)snprintf(field + n, size - n, "%s%.*s", n ? "," : "", STR_ARG(word));
		}
	}
	return n ? 0 : -EINVAL;
}

static int set_bool(bool *field, struct str v, const char *yes, const char *no)
{
	if (!str_is(v, yes) && !str_is(v, no))
		return -EINVAL;
	*field = str_is(v, yes);
	return 0;
}

static int set_number(const struct key *k, uint64_t *field, struct str v)
{
	uint64_t n;
	int r = k->kind == KIND_CPUS ? parse_cpus(v, &n) : str_to_u64(v, UINT64_MAX, &n);

	if (r < 0)
		return r;
	if (n < k->min || n > k->max)
		return -ERANGE;
	*field = n;
	return 0;
}

int config_number(struct str key, struct str value, uint64_t *ret)
{
	const struct key *k = key_find(key);

	return k && (k->kind == KIND_NUMBER || k->kind == KIND_CPUS) ? set_number(k, ret, value) : -EINVAL;
}

static int set_field(struct config *c, const struct key *k, struct str value)
{
	void *field = (char *)c + k->at;
	struct prices prices;
	char word[16];

	switch (k->kind) {
	case KIND_TEXT:
		return value.n > 0 && str_copy(field, k->size, value) ? 0 : -EINVAL;
	case KIND_PATH:
		return set_path(field, k->size, value);
	case KIND_NUMBER:
	case KIND_CPUS:
		return set_number(k, field, value);
	case KIND_BOOL:
		return set_bool(field, value, "true", "false");
	case KIND_STOP:
		return set_bool(field, value, "keep", "kill");
	case KIND_AUDIT:
		return set_audit(field, value);
	case KIND_TOKEN:
		return set_token(field, value);
	case KIND_AUDIT_CODE:
		return set_bool(field, value, "full", "hash");
	case KIND_LEVEL:
		return str_copy(word, sizeof word, value) ? log_level_parse(word, field) : -EINVAL;
	case KIND_TEMPLATE:
		return set_template(c, value);
	case KIND_RANGES:
		return set_ranges(c, value);
	case KIND_KEY:
		return str_copy(field, k->size, value) && check_template_key(field) ? 0 : -EINVAL;
	case KIND_HOSTS:
		return set_hosts(field, k->size, value);
	case KIND_PRICES:
		return prices_parse(value, &prices) == 0 && str_copy(field, k->size, value) ? 0 : -EINVAL;
	case KIND_LIMITS:
		return config_set_template_limits(c, value);
	}
	return -EINVAL;
}

/* Reports a rejected value together with what would be accepted. */
static int refuse(const struct key *k, struct str value, int r, struct err *e)
{
	static const char *const want[] = {
		[KIND_TEXT] = "a short text",
		[KIND_PATH] = "a path",
		[KIND_CPUS] = "a number of cores like 2 or 0.5",
		[KIND_BOOL] = "true or false",
		[KIND_STOP] = "kill or keep",
		[KIND_LEVEL] = "debug, info, warn or error",
		[KIND_AUDIT] = "on, required or off",
		[KIND_AUDIT_CODE] = "hash or full",
		[KIND_TOKEN] = "execute, all or none",
		[KIND_TEMPLATE] = "NAME=KEY with a key of 32 hex digits",
		[KIND_KEY] = "a key of 32 hex digits",
		[KIND_HOSTS] = "IP addresses",
		[KIND_LIMITS] = "a template and limits like 'base memory_mb=512 max_memory_mb=1024'",
		[KIND_PRICES] = "prices like 'vcpu_hour=0.05 gib_hour=0.016 egress_gib=0.09 currency=EUR'",
		[KIND_RANGES] =
		    "IPv4 addresses and ranges, none of them of this host, of sandboxes, link-local or multicast",
	};

	if (r == -E2BIG)
		return err_set(e, E2BIG, "%s: more than %d given", k->name,
		    k->kind == KIND_RANGES ? CONFIG_RANGES_MAX : TEMPLATES_MAX);
	if (k->kind == KIND_NUMBER || (k->kind == KIND_CPUS && r == -ERANGE))
		return err_set(e, EINVAL, "%s = '%.*s': wants a number from %llu to %llu%s", k->name, STR_ARG(value),
		    (unsigned long long)k->min, (unsigned long long)k->max, k->kind == KIND_CPUS ? " thousandths" : "");
	return err_set(e, EINVAL, "%s = '%.*s': wants %s", k->name, STR_ARG(value), want[k->kind]);
}

static int key_set(struct config *c, const struct key *k, struct str value, struct err *e)
{
	int r = set_field(c, k, value);

	return r < 0 ? refuse(k, value, r, e) : 0;
}

int config_set(struct config *c, struct str key, struct str value, struct err *e)
{
	const struct key *k = key_find(key);

	if (!k || memchr(key.p, '-', key.n))
		return err_set(e, EINVAL, "unknown key '%.*s'", STR_ARG(key));
	if (k->cli_only)
		return err_set(e, EINVAL, "key '%s' is for the command line only", k->name);
	return key_set(c, k, value, e);
}

int config_text(struct config *c, struct str text, struct err *e)
{
	bool seen[ARRAY_LEN(keys)] = { false };

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
		size_t i = (size_t)(key_find(key) - keys);
		if (seen[i] && keys[i].kind != KIND_LIMITS)
			return err_set(e, EINVAL, "line %u: key '%s' is given twice", line, keys[i].name);
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
	if (strncmp(arg, "--", 2) != 0)
		return err_set(e, EINVAL, "unexpected argument '%s'", arg);
	struct str value = str_of(arg + 2);
	struct str name = str_cut(&value, '=');
	const struct key *k = memchr(name.p, '_', name.n) ? NULL : key_find(name);

	if (!k)
		return err_set(e, EINVAL, "unknown option '--%.*s'", STR_ARG(name));
	if (!value.p && k->kind == KIND_BOOL) {
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

int config_settle(struct config *c, struct err *e)
{
	if (config_settle_limits(c, e) < 0)
		return -e->no;
	if (c->pool_size_mb && c->pool_max_mb && c->pool_size_mb > c->pool_max_mb)
		return err_set(e, EINVAL, "pool_size_mb is above pool_max_mb");
	if (!c->warm_pool_max)
		c->warm_pool_max = c->warm_pool_size > WARM_POOL_MAX ? c->warm_pool_size : WARM_POOL_MAX;
	if (c->volume_size_mb > c->volume_max_mb)
		return err_set(e, EINVAL, "volume_size_mb is above volume_max_mb (%llu > %llu)",
		    (unsigned long long)c->volume_size_mb, (unsigned long long)c->volume_max_mb);
	if (c->warm_pool_size > c->warm_pool_max)
		return err_set(e, EINVAL, "warm_pool_size is above warm_pool_max (%llu > %llu)",
		    (unsigned long long)c->warm_pool_size, (unsigned long long)c->warm_pool_max);
	if (c->image_packages[strspn(c->image_packages, "abcdefghijklmnopqrstuvwxyz0123456789+.- ")])
		return err_set(e, EINVAL,
		    "image_packages = '%s': want names of Debian packages with blanks between them", c->image_packages);
	const char *trusting = c->open ? "open" : c->metrics_open ? "metrics_open" : NULL;

	if (trusting &&
	    (all_loopback(trusting, "listen", c->listen, e) < 0 ||
		all_loopback(trusting, "tls_listen", c->tls_listen, e) < 0))
		return -e->no;
	return settle_tls(c, e);
}

int config_load(struct config *c, int argc, char **argv, struct err *e)
{
	config_defaults(c);
	if (take_options(c, argc, argv, true, e) < 0)
		return -e->no;
	if (c->file[0] && load_file(c, c->file, e) < 0)
		return -e->no;
	if (take_options(c, argc, argv, false, e) < 0)
		return -e->no;
	return config_settle(c, e);
}
