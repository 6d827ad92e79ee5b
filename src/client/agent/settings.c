/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/settings: parses the settings of the agent layer, a JSON object. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define FILE_MAX_BYTES (1024 * 1024)

struct atoll_agent_settings *atoll_agent_settings_default(void)
{
	struct atoll_agent_settings *s = calloc(1, sizeof *s);
	struct atoll_error e;

	if (!s || !(s->environment = strdup(ATOLL_TEMPLATE_DEFAULT)) || atoll_policy_new(&s->policy, &e) < 0) {
		atoll_agent_settings_free(s);
		return NULL;
	}
	s->session_timeout_ms = 3600000;
	s->max_sessions = 10;
	s->limits = (struct atoll_resources) { 512, 500, 1024 };
	s->retry = ATOLL_RETRY_DEFAULT;
	s->redact = true;
	s->alerts = (struct atoll_thresholds) { 80, 80, 80 };
	s->breaker_failures = 5;
	s->breaker_open_ms = 30000;
	return s;
}

void atoll_agent_settings_free(struct atoll_agent_settings *s)
{
	if (!s)
		return;
	if (s->api_key)
		explicit_bzero(s->api_key, strlen(s->api_key));
	free(s->api_key);
	free(s->environment);
	atoll_policy_free(s->policy);
	free(s);
}

/* Parses "512MB", "1GB", "1.5 GiB" or a number of megabytes. Returns 0 if it is none of these. */
uint64_t client_megabytes(const json_t *v)
{
	const char *z = json_string_value(v);
	char *end;

	if (json_is_integer(v))
		return json_integer_value(v) > 0 && json_integer_value(v) <= 1048576 ? (uint64_t)json_integer_value(v)
										     : 0;
	if (!z || *z < '0' || *z > '9')
		return 0;
	double d = strtod(z, &end);

	while (*end == ' ')
		end++;
	double mb = !*end || strcasecmp(end, "MB") == 0 || strcasecmp(end, "MiB") == 0 || strcasecmp(end, "M") == 0 ? d
	    : strcasecmp(end, "GB") == 0 || strcasecmp(end, "GiB") == 0 || strcasecmp(end, "G") == 0 ? d * 1024
												     : 0;

	return mb >= 1 && mb <= 1048576 ? (uint64_t)mb : 0;
}

/* Parses 0.5 or "0.5". Returns 0 if it is neither. */
static double processors(const json_t *v)
{
	const char *z = json_string_value(v);
	char *end;

	if (!z)
		return json_is_number(v) ? json_number_value(v) : 0;
	double d = *z >= '0' && *z <= '9' ? strtod(z, &end) : 0;

	return d > 0 && !*end ? d : 0;
}

int client_thresholds(const json_t *o, struct atoll_thresholds *ret, struct atoll_error *e)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		unsigned *to = strcmp(name, "memory") == 0 ? &ret->memory
		    : strcmp(name, "cpu") == 0             ? &ret->cpu
		    : strcmp(name, "diskSpace") == 0       ? &ret->disk
							   : NULL;

		if (!to)
			return client_fail(e, EINVAL, 400, "field 'alertThresholds.%.40s' is unknown", name);
		if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > 100)
			return client_fail(e, EINVAL, 400,
			    "field 'alertThresholds.%.40s' must be a percentage from 1 to 100", name);
		*to = (unsigned)json_integer_value(v);
	}
	return 0;
}

int client_resources(const json_t *o, struct atoll_resources *ret, struct atoll_error *e)
{
	struct atoll_resources r = { 0 };
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		bool memory = strcmp(name, "memory") == 0, disk = strcmp(name, "diskSpace") == 0;
		double cpu = processors(v);

		if (memory || disk) {
			*(memory ? &r.memory_mb : &r.disk_mb) = client_megabytes(v);
			if (!client_megabytes(v))
				return client_fail(e, EINVAL, 400,
				    "field 'resourceLimits.%s' must be a size such as \"512MB\" or \"1GB\"", name);
		} else if (strcmp(name, "cpu") == 0) {
			if (cpu < 0.01 || cpu > 1024)
				return client_fail(e, EINVAL, 400,
				    "field 'resourceLimits.cpu' must be a number from 0.01 to 1024, such as 0.5 or "
				    "\"0.5\"");
			r.cpu_permille = (unsigned)(cpu * 1000 + 0.5);
		} else {
			return client_fail(e, EINVAL, 400, "field 'resourceLimits.%.40s' is unknown", name);
		}
	}
	ret->memory_mb = r.memory_mb ? r.memory_mb : ret->memory_mb;
	ret->cpu_permille = r.cpu_permille ? r.cpu_permille : ret->cpu_permille;
	ret->disk_mb = r.disk_mb ? r.disk_mb : ret->disk_mb;
	return 0;
}

/* Stores the key. "${NAME}" is replaced by that environment variable, so that a file need not contain the key itself;
 * nothing else is expanded. */
static int take_key(struct atoll_agent_settings *s, const char *z, struct atoll_error *e)
{
	struct str name = str_of(z);

	if (str_starts(name, "${") && str_ends(name, "}")) {
		autofree char *var = str_dup((struct str) { name.p + 2, name.n - 3 });

		if (!var)
			return client_no_memory(e);
		z = getenv(var);
		if (!z)
			return 0; /* a caller that needs the key reports the missing variable */
	}
	s->api_key = strdup(z);
	return s->api_key ? 0 : client_no_memory(e);
}

static int take_number(const json_t *o, const char *name, int64_t min, int64_t max, unsigned *ret, struct err *why)
{
	int64_t v = *ret;

	if (json_get_int(o, name, min, max, &v, why) < 0)
		return -EINVAL;
	*ret = (unsigned)v;
	return 0;
}

static int take_all(struct atoll_agent_settings *s, const json_t *o, struct atoll_error *e)
{
	static const char *const known[] = { "alertThresholds", "apiKey", "defaultEnvironment", "sessionTimeout",
		"maxConcurrentSessions", "resourceLimits", "timeout", "maxRetries", "breakerFailures", "breakerOpenMs",
		"redact", "policy", NULL };
	const char *key = NULL, *environment = NULL, *name;
	json_t *limits = NULL, *policy = NULL, *alerts = NULL, *v;
	struct err why = ERR_INIT;

	json_object_foreach((json_t *)o, name, v)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], name) != 0)
			i++;
		if (!known[i])
			return client_fail(e, EINVAL, 0, "field '%.60s' is unknown", name);
	}
	if (json_get_str(o, "apiKey", &key, &why) < 0 || json_get_bool(o, "redact", &s->redact, &why) < 0 ||
	    json_get_str(o, "defaultEnvironment", &environment, &why) < 0 ||
	    json_get_obj(o, "resourceLimits", &limits, &why) < 0 || json_get_obj(o, "policy", &policy, &why) < 0 ||
	    json_get_obj(o, "alertThresholds", &alerts, &why) < 0 ||
	    take_number(o, "sessionTimeout", 1000, 86400000, &s->session_timeout_ms, &why) < 0 ||
	    take_number(o, "maxConcurrentSessions", 1, 10000, &s->max_sessions, &why) < 0 ||
	    take_number(o, "timeout", 1, 86400000, &s->retry.timeout_ms, &why) < 0 ||
	    take_number(o, "maxRetries", 0, 100, &s->retry.max_retries, &why) < 0 ||
	    take_number(o, "breakerFailures", 1, 1000, &s->breaker_failures, &why) < 0 ||
	    take_number(o, "breakerOpenMs", 1, 3600000, &s->breaker_open_ms, &why) < 0)
		return client_fail(e, EINVAL, 0, "%s", why.text);
	if (client_resources(limits, &s->limits, e) < 0 || client_thresholds(alerts, &s->alerts, e) < 0 ||
	    (key && take_key(s, key, e) < 0))
		return -e->no;
	if (environment) {
		free(s->environment);
		s->environment = strdup(environment);
	}
	autofree char *text = policy ? json_dumps(policy, JSON_COMPACT) : NULL;

	if (!s->environment || (policy && !text))
		return client_no_memory(e);
	return text ? atoll_policy_add(s->policy, text, strlen(text), e) : 0;
}

int atoll_agent_settings_load(const char *path, struct atoll_agent_settings **ret, struct atoll_error *e)
{
	NEED(e, ret);
	struct atoll_agent_settings *s = atoll_agent_settings_default();
	autofree char *text = malloc(FILE_MAX_BYTES);
	autojson json_t *o = NULL;
	struct err why = ERR_INIT;

	if (!s || !text) {
		atoll_agent_settings_free(s);
		return client_no_memory(e);
	}
	ssize_t n = path ? file_read(AT_FDCWD, path, text, FILE_MAX_BYTES) : 0;
	int rc = 0;

	if (n < 0)
		rc = client_fail(e, (int)-n, 0, "read '%.200s': %s", path, strerrordesc_np((int)-n));
	else if (json_read_object((struct str) { text, (size_t)n }, path == NULL, &o, &why) < 0)
		rc = client_fail(e, EINVAL, 0, "%.200s: %s", path, why.text);
	else
		rc = take_all(s, o, e);
	if (rc < 0) {
		atoll_agent_settings_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}
