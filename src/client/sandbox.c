/* SPDX-License-Identifier: Apache-2.0 */
/* client/sandbox: creates, opens, pauses and kills sandboxes with the control API. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define DEFAULT_TIMEOUT_S 300

int atoll_health(struct atoll *a, struct atoll_error *e)
{
	NEED(e, a);
	autocall struct call c = CALL_INIT("GET", a->api_url, "/health");

	c.timeout_ms = 5000;
	return call_run(a, &c, e);
}

/* Checks an id or token, which is used in headers and host names. */
static bool is_plain(const char *z)
{
	for (; *z; z++) {
		if ((unsigned char)*z <= 0x20 || (unsigned char)*z >= 0x7f)
			return false;
	}
	return true;
}

static bool is_name(const char *z)
{
	return *z && strspn(z, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(z);
}

static bool is_host(const char *z) /* may include a port */
{
	return *z && strspn(z, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") == strlen(z);
}

/* True for domains of E2B, whose sandboxes share one address and are selected by headers. */
static bool is_hosted(const char *domain)
{
	static const char *const all[] = { "e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev" };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (strcmp(domain, all[i]) == 0)
			return true;
	}
	return false;
}

static char *service_url(const struct atoll_sandbox *sb, unsigned port)
{
	if (sb->a->sandbox_url)
		return str_dup(str_of(sb->a->sandbox_url));
	if (!sb->domain || !sb->id)
		return NULL;
	return is_hosted(sb->domain) ? str_fmt("https://sandbox.%s", sb->domain)
				     : str_fmt("https://%u-%s.%s", port, sb->id, sb->domain);
}

static char *dup_or_null(const char *z)
{
	return z ? str_dup(str_of(z)) : NULL;
}

static int sandbox_of(struct atoll *a, const json_t *j, struct atoll_sandbox **ret, struct atoll_error *e)
{
	const char *id = json_string_value(json_object_get(j, "sandboxID"));
	const char *token = json_string_value(json_object_get(j, "envdAccessToken"));
	const char *traffic = json_string_value(json_object_get(j, "trafficAccessToken"));

	const char *domain = json_string_value(json_object_get(j, "domain"));

	if (!domain || !*domain)
		domain = a->domain;
	if (!a->sandbox_url && (!domain || !is_host(domain)))
		return client_fail(e, EPROTO, 0,
		    "%s reports no domain for its sandboxes: set E2B_DOMAIN or E2B_SANDBOX_URL", a->api_url);
	if (!id || !is_name(id) || (token && !is_plain(token)) || (traffic && !is_plain(traffic)))
		return client_fail(e, EPROTO, 0, "the response of %s is not that of an atoll or E2B server",
		    a->api_url);
	struct atoll_sandbox *sb = calloc(1, sizeof(*sb));
	if (!sb)
		return client_no_memory(e);
	sb->a = a;
	sb->id = str_dup(str_of(id));
	sb->token = dup_or_null(token);
	sb->traffic_token = dup_or_null(traffic);
	sb->json = json_dumps(j, JSON_COMPACT);
	sb->domain = dup_or_null(domain);
	sb->envd_url = service_url(sb, ENVD_PORT);
	sb->code_url = service_url(sb, CODE_PORT);
	if (!sb->id || !sb->json || !sb->envd_url || !sb->code_url || (token && !sb->token) ||
	    (traffic && !sb->traffic_token) || (domain && !sb->domain)) {
		atoll_sandbox_free(sb);
		return client_no_memory(e);
	}
	*ret = sb;
	return 0;
}

static int sandbox_new(struct atoll *a, const struct call *c, struct atoll_sandbox **ret, struct atoll_error *e)
{
	autojson json_t *j = NULL;

	return call_json(c, JSON_OBJECT, &j, e) < 0 ? -e->no : sandbox_of(a, j, ret, e);
}

int client_sandbox_again(struct atoll *a, const char *json, struct atoll_sandbox **ret, struct atoll_error *e)
{
	autojson json_t *j = json_loads(json, 0, NULL);

	return j ? sandbox_of(a, j, ret, e) : client_fail(e, EINVAL, 0, "the saved sandbox is not JSON");
}

static json_t *mounts_json(const struct atoll_spec *spec)
{
	json_t *all = json_array();

	for (size_t i = 0; i < spec->n_volumes; i++) {
		json_t *one = json_pack("{s:s,s:s}", "name", spec->volumes[i].name, "path", spec->volumes[i].value);

		if (!one || json_array_append_new(all, one) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static json_t *create_message(const struct atoll *a, const struct atoll_spec *spec, struct atoll_error *e)
{
	autojson json_t *body = json_pack("{s:s}", "templateID",
	    spec->template_id ? spec->template_id : a->template_id);
	json_t *metadata, *envs;

	if (!body) {
		client_fail(e, EINVAL, 0, "the template's name is not valid UTF-8");
		return NULL;
	}
	if (client_pairs_json(spec->metadata, spec->n_metadata, &metadata, e) < 0)
		return NULL;
	json_object_set_new(body, "metadata", metadata);
	if (client_pairs_json(spec->envs, spec->n_envs, &envs, e) < 0)
		return NULL;
	json_object_set_new(body, "envVars", envs);
	if (spec->n_volumes > 0 &&
	    (!spec->volumes || json_object_set_new(body, "volumeMounts", mounts_json(spec)) < 0)) {
		client_fail(e, EINVAL, 0, "the name or path of a volume is missing or not valid UTF-8");
		return NULL;
	}
	if (spec->timeout_s > 0)
		json_object_set_new(body, "timeout", json_integer(spec->timeout_s));
	if (spec->no_internet)
		json_object_set_new(body, "allow_internet_access", json_false());
	if (spec->n_limits > 0) {
		json_t *limits = client_limits_json(spec->limits, spec->n_limits, e);

		if (!limits || json_object_set_new(body, "limits", limits) < 0)
			return NULL;
	}
	return json_incref(body);
}

/* True if the server does not know this call: an older one has only its first version. */
static bool is_unknown_call(const struct atoll_error *e)
{
	return e->status == 404 || e->status == 405 || e->status == 501;
}

/* In the first version, a sandbox is public and lives for 15 seconds by default, so both are set. */
static int create_first(struct atoll *a, json_t *body, struct atoll_sandbox **ret, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("POST", a->api_url, "/sandboxes");

	json_object_set_new(body, "secure", json_true());
	if (!json_object_get(body, "timeout"))
		json_object_set_new(body, "timeout", json_integer(DEFAULT_TIMEOUT_S));
	c.log.op = "create_sandbox";
	return api_send(a, &c, body, e) < 0 ? -e->no : sandbox_new(a, &c, ret, e);
}

int atoll_sandbox_create(struct atoll *a, const struct atoll_spec *given, struct atoll_sandbox **ret,
    struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT("POST", a->api_url, "/v2/sandboxes");
	struct atoll_spec spec = { 0 };

	if (given && TAKE_IN(&spec, given, e) < 0)
		return -e->no;
	autojson json_t *body = create_message(a, &spec, e);
	if (!body)
		return -e->no;
	c.log.op = "create_sandbox";
	if (api_send(a, &c, body, e) < 0)
		return is_unknown_call(e) ? create_first(a, body, ret, e) : -e->no;
	return sandbox_new(a, &c, ret, e);
}

static int sandbox_resume(struct atoll *a, const char *id, const char *prefix, unsigned timeout_s,
    struct atoll_sandbox **ret, struct atoll_error *e)
{
	autofree char *path = api_path(prefix, id, "/connect");
	autocall struct call c = CALL_INIT("POST", a->api_url, path);
	autojson json_t *body = json_pack("{s:I}", "timeout", (json_int_t)timeout_s);

	if (!body)
		return client_no_memory(e);
	if (api_send(a, &c, body, e) < 0)
		return -e->no;
	return ret ? sandbox_new(a, &c, ret, e) : 0;
}

static int sandbox_connect(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_sandbox **ret,
    struct atoll_error *e)
{
	if (sandbox_resume(a, id, "/v2/sandboxes/", timeout_s, ret, e) == 0)
		return 0;
	return is_unknown_call(e) ? sandbox_resume(a, id, "/sandboxes/", timeout_s, ret, e) : -e->no;
}

int client_extend(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e)
{
	return sandbox_connect(a, id, timeout_s, NULL, e);
}

int atoll_sandbox_open(struct atoll *a, const char *id, struct atoll_sandbox **ret, struct atoll_error *e)
{
	NEED(e, a && id && ret);
	autofree char *path = api_path("/sandboxes/", id, "");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	autojson json_t *j = NULL;

	if (*id == '\0')
		return client_fail(e, EINVAL, 0, "the sandbox id is empty");
	c.log.op = "open_sandbox";
	c.log.sandbox = id;
	if (api_call(a, &c, e) < 0)
		return api_no_sandbox(e, id);
	if (call_json(&c, JSON_OBJECT, &j, e) < 0)
		return -e->no;
	const char *state = json_string_value(json_object_get(j, "state"));
	if (!state || strcmp(state, "paused") != 0)
		return sandbox_new(a, &c, ret, e);
	return sandbox_connect(a, id, DEFAULT_TIMEOUT_S, ret, e) == 0 ? 0 : api_no_sandbox(e, id);
}

int atoll_sandbox_host(const struct atoll_sandbox *sb, unsigned port, char *ret, size_t size, struct atoll_error *e)
{
	NEED(e, sb && ret);
	if (port == 0 || port > 65535)
		return client_fail(e, EINVAL, 0, "%u is not a port", port);
	if (!sb->domain)
		return client_fail(e, ENOENT, 0,
		    "sandbox '%s' has no host names: its server has no domain (E2B_DOMAIN)", sb->id);
	int n = snprintf(ret, size, "%u-%s.%s", port, sb->id, sb->domain);

	return n > 0 && (size_t)n < size ? 0
					 : client_fail(e, ENAMETOOLONG, 0, "the buffer is too small for the host name");
}

const char *atoll_sandbox_id(const struct atoll_sandbox *sb)
{
	return sb ? sb->id : NULL;
}

const char *atoll_sandbox_json(const struct atoll_sandbox *sb)
{
	return sb ? sb->json : NULL;
}

int atoll_sandbox_running(struct atoll_sandbox *sb, struct atoll_error *e)
{
	NEED(e, sb);
	autocall struct call c = CALL_INIT("GET", sb->envd_url, "/health");

	c.timeout_ms = 5000;
	if (call_header_sandbox(&c, sb, ENVD_PORT) < 0)
		return client_no_memory(e);
	if (call_run(sb->a, &c, e) == 0)
		return 1;
	return e->status == 502 ? 0 : -e->no;
}

void atoll_sandbox_free(struct atoll_sandbox *sb)
{
	if (!sb)
		return;
	free(sb->id);
	free(sb->token);
	free(sb->traffic_token);
	free(sb->session);
	free(sb->domain);
	free(sb->envd_url);
	free(sb->code_url);
	free(sb->json);
	free(sb);
}

void atoll_sandbox_close(struct atoll_sandbox **sb)
{
	if (sb)
		atoll_sandbox_free(take_ptr(sb));
}

int atoll_kill(struct atoll *a, const char *id, struct atoll_error *e)
{
	NEED(e, a && id);
	autofree char *path = api_path("/sandboxes/", id, "");
	autocall struct call c = CALL_INIT("DELETE", a->api_url, path);

	/* An empty id would refer to the whole collection. */
	if (*id == '\0')
		return client_fail(e, EINVAL, 0, "the sandbox id is empty");
	c.log.op = "kill_sandbox";
	c.log.sandbox = id;
	return api_call(a, &c, e) < 0 ? api_no_sandbox(e, id) : 0;
}

static int post(struct atoll *a, const char *id, const char *what, const json_t *body, struct atoll_error *e)
{
	autofree char *path = api_path("/sandboxes/", id, what);
	autocall struct call c = CALL_INIT("POST", a->api_url, path);

	if (!body)
		return client_no_memory(e);
	return api_send(a, &c, body, e) < 0 ? api_no_sandbox(e, id) : 0;
}

int atoll_pause(struct atoll *a, const char *id, struct atoll_error *e)
{
	NEED(e, a && id);
	autojson json_t *body = json_object();

	return post(a, id, "/pause", body, e);
}

int atoll_pause_disk(struct atoll *a, const char *id, struct atoll_error *e)
{
	NEED(e, a && id);
	autojson json_t *body = json_pack("{s:b}", "memory", 0);

	return post(a, id, "/pause", body, e);
}

static int resume(struct atoll *a, const char *id, unsigned timeout_s, int memory, struct atoll_error *e)
{
	autojson json_t *body = json_pack("{s:I,s:b}", "timeout",
	    (json_int_t)(timeout_s ? timeout_s : DEFAULT_TIMEOUT_S), "memory", memory);

	return post(a, id, "/resume", body, e);
}

int atoll_resume(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e)
{
	NEED(e, a && id);
	return resume(a, id, timeout_s, 1, e);
}

int atoll_boot(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e)
{
	NEED(e, a && id);
	return resume(a, id, timeout_s, 0, e);
}

int atoll_set_timeout(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e)
{
	NEED(e, a && id);
	autojson json_t *body = json_pack("{s:I}", "timeout", (json_int_t)timeout_s);

	return post(a, id, "/timeout", body, e);
}
