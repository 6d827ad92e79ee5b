/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools_sandbox: creates, lists, inspects and kills sandboxes, and makes URLs to their ports and files. */
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"
#include "mcp/tools.h"

/* Access tokens are not for the model. */
static json_t *without_tokens(json_t *o)
{
	json_object_del(o, "envdAccessToken");
	json_object_del(o, "trafficAccessToken");
	return o;
}

static void create_sandbox(struct tool_run *r)
{
	const char *template = run_str(r, "template");
	size_t n_envs, n_metadata;
	autofree struct atoll_pair *envs = run_pairs(r, "envs", &n_envs),
				   *metadata = run_pairs(r, "metadata", &n_metadata);
	const json_t *internet = json_object_get(r->args, "internet");
	struct atoll_spec spec = { .template_id = template ? template : r->host->environment,
		.timeout_s = run_lifetime_s(r, 300),
		.envs = envs,
		.n_envs = n_envs,
		.metadata = metadata,
		.n_metadata = n_metadata,
		.no_internet = json_is_false(internet) };
	struct atoll_sandbox *sb;
	struct atoll_error e;

	if (envs && !json_object_get(json_object_get(r->args, "envs"), client_git_envs[0].name)) {
		memcpy(envs + n_envs, client_git_envs, sizeof client_git_envs);
		spec.n_envs += CLIENT_GIT_ENVS;
	}
	if (atoll_sandbox_create(sandbox_cache_client(r->host->cache), &spec, &sb, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	run_say(r, "Created sandbox %s", atoll_sandbox_id(sb));
	run_set(r, "sandboxId", json_string(atoll_sandbox_id(sb)));
	run_set(r, "templateId", json_string(spec.template_id));
	run_set(r, "timeoutS", json_integer(spec.timeout_s));
	atoll_sandbox_free(sb);
}

static json_t *info_json(const struct atoll_info *i)
{
	json_t *metadata = json_object();

	for (size_t k = 0; k < i->n_metadata; k++)
		json_object_set_new(metadata, i->metadata[k].name, json_string(i->metadata[k].value));
	return json_pack("{s:s,s:s,s:s*,s:s,s:s,s:s,s:i,s:I,s:I,s:o}", "sandboxId", i->id, "templateId", i->template_id,
	    "alias", i->alias, "state", i->state, "startedAt", i->started_at, "endAt", i->end_at, "cpuCount",
	    (int)i->cpu_count, "memoryMB", (json_int_t)i->memory_mb, "diskMB", (json_int_t)i->disk_mb, "metadata",
	    metadata);
}

static void list_sandboxes(struct tool_run *r)
{
	struct atoll_list *l;
	struct atoll_error e;

	if (atoll_list_sandboxes(sandbox_cache_client(r->host->cache), &l, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++) {
		run_say(r, "%s %s %s until %s", l->v[i].id, l->v[i].state,
		    l->v[i].alias ? l->v[i].alias : l->v[i].template_id, l->v[i].end_at);
		json_array_append_new(list, info_json(&l->v[i]));
	}
	if (l->n == 0)
		run_say(r, "(no sandboxes)");
	run_set(r, "sandboxes", list);
	atoll_list_free(l);
}

static void sandbox_info(struct tool_run *r)
{
	struct atoll_list *l;
	struct atoll_error e;

	if (!run_sandbox(r))
		return;
	if (atoll_get_sandbox(sandbox_cache_client(r->host->cache), r->sandbox->id, &l, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	run_say(r, "%s is %s, template %s, ends at %s", l->v[0].id, l->v[0].state,
	    l->v[0].alias ? l->v[0].alias : l->v[0].template_id, l->v[0].end_at);
	json_decref(r->structured);
	r->structured = without_tokens(info_json(&l->v[0]));
	atoll_list_free(l);
}

static void set_timeout(struct tool_run *r)
{
	unsigned s = run_lifetime_s(r, 0);
	struct atoll_error e;

	if (s == 0) {
		run_refuse(r, "argument 'timeout_ms' is missing");
		return;
	}
	if (!run_sandbox(r))
		return;
	if (atoll_set_timeout(sandbox_cache_client(r->host->cache), r->sandbox->id, s, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	run_say(r, "Sandbox %s ends in %u s", r->sandbox->id, s);
	run_set(r, "timeoutS", json_integer(s));
}

/* Kills only the sandbox that is named, never the session's by default. */
static void kill_sandbox(struct tool_run *r)
{
	const char *id = run_str(r, "sandbox_id");
	struct atoll_error e;

	if (atoll_kill(sandbox_cache_client(r->host->cache), id, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	sandbox_cache_drop(r->host->cache, id);
	run_say(r, "Killed sandbox %s", id);
	run_set(r, "sandboxId", json_string(id));
}

static const char *sandbox_field(json_t *j, const char *name)
{
	const char *v = json_string_value(json_object_get(j, name));

	return v && *v ? v : NULL;
}

static void get_sandbox_url(struct tool_run *r)
{
	int port = (int)run_int(r, "port", 0);
	struct cached_sandbox *sandbox = run_sandbox(r);

	if (!sandbox)
		return;
	autojson json_t *j = json_loads(atoll_sandbox_json(sandbox->sb), 0, NULL);
	const char *domain = sandbox_field(j, "domain");
	bool tls = strncmp(r->host->url, "https:", 6) == 0;
	autofree char *url = domain ? str_fmt("%s://%d-%s.%s", tls ? "https" : "http", port, sandbox->id, domain)
				    : str_dup(str_of(r->host->url));

	if (!url)
		return;
	run_set(r, "url", json_string(url));
	run_set(r, "port", json_integer(port));
	if (domain) {
		run_say(r, "%s", url);
		return;
	}
	/* A server without a wildcard domain selects the sandbox by header fields. */
	char text[16];

	(void)snprintf(text, sizeof text, "%d", port);
	run_say(r, "%s with the header fields E2b-Sandbox-Id: %s and E2b-Sandbox-Port: %d", url, sandbox->id, port);
	run_set(r, "headers", json_pack("{s:s,s:s}", "E2b-Sandbox-Id", sandbox->id, "E2b-Sandbox-Port", text));
}

/* base64(sha256("path:read:user:token[:expiry]")), the signature of E2B's SDKs. */
static bool sign_url(struct buf *out, const char *path, const char *user, const char *token, int64_t end_s)
{
	autofree char *text = end_s ? str_fmt("%s:read:%s:%s:%lld", path, user, token, (long long)end_s)
				    : str_fmt("%s:read:%s:%s", path, user, token);
	unsigned char digest[32];

	if (!text || !EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL))
		return false;
	explicit_bzero(text, strlen(text));
	buf_z(out, "v1_");
	base64_encode(out, (struct str) { (const char *)digest, sizeof digest }, false);
	return !out->bad;
}

static void get_file_download_url(struct tool_run *r)
{
	const char *path = run_str(r, "path"), *user = run_some(r, "user");
	int64_t end = time(NULL) + run_int(r, "expires_s", 3600);
	struct cached_sandbox *sandbox;
	autobuf struct buf url = BUF_INIT(32768), signature = BUF_INIT(256);

	user = user ? user : "user";
	if (!run_may_file(r, "download", path) || !(sandbox = run_sandbox(r)))
		return;
	autojson json_t *j = json_loads(atoll_sandbox_json(sandbox->sb), 0, NULL);
	const char *domain = sandbox_field(j, "domain"), *token = sandbox_field(j, "envdAccessToken");

	if (domain)
		buf_fmt(&url,
		    "%s://49983-%s.%s/files?path=", strncmp(r->host->url, "https:", 6) == 0 ? "https" : "http",
		    sandbox->id, domain);
	else
		buf_fmt(&url, "%s/files?path=", r->host->url);
	url_encode(&url, str_of(path));
	buf_z(&url, "&username=");
	url_encode(&url, str_of(user));
	if (token && sign_url(&signature, path, user, token, end)) {
		buf_z(&url, "&signature=");
		url_encode(&url, buf_view(&signature));
		buf_fmt(&url, "&signature_expiration=%lld", (long long)end);
	}
	if (url.bad) {
		run_refuse(r, "argument 'path' is too long");
		return;
	}
	run_text(r, url.p, url.n);
	run_set(r, "url", json_stringn(url.p, url.n));
	if (token)
		run_set(r, "expiresAt", json_integer(end));
}

static void sandbox_metrics(struct tool_run *r)
{
	struct atoll_points *p;
	struct atoll_error e;

	if (!run_sandbox(r))
		return;
	if (atoll_metrics(sandbox_cache_client(r->host->cache), r->sandbox->id, 0, 0, &p, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	json_t *points = json_array();
	size_t from = p->n > 60 ? p->n - 60 : 0;

	for (size_t i = from; i < p->n; i++) {
		const struct atoll_point *at = &p->v[i];

		json_array_append_new(points,
		    json_pack("{s:s,s:f,s:I,s:I,s:I,s:I}", "at", at->at, "cpuPercent", at->cpu_pct, "memUsed",
			(json_int_t)at->mem_used, "memTotal", (json_int_t)at->mem_total, "diskUsed",
			(json_int_t)at->disk_used, "diskTotal", (json_int_t)at->disk_total));
	}
	if (p->n)
		run_say(r, "cpu %.1f %%, memory %llu of %llu MiB, disk %llu of %llu MiB", p->v[p->n - 1].cpu_pct,
		    (unsigned long long)(p->v[p->n - 1].mem_used >> 20),
		    (unsigned long long)(p->v[p->n - 1].mem_total >> 20),
		    (unsigned long long)(p->v[p->n - 1].disk_used >> 20),
		    (unsigned long long)(p->v[p->n - 1].disk_total >> 20));
	else
		run_say(r, "(no samples yet)");
	run_set(r, "points", points);
	atoll_points_free(p);
}

const struct tool_handler tools_sandbox[] = {
	{ "create_sandbox", create_sandbox, .seeks = SEEKS_TEMPLATE },
	{ "list_sandboxes", list_sandboxes, .outside = true },
	{ "sandbox_info", sandbox_info, .seeks = SEEKS_SANDBOX, .outside = true },
	{ "set_timeout", set_timeout, .seeks = SEEKS_SANDBOX, .outside = true },
	{ "kill_sandbox", kill_sandbox, .seeks = SEEKS_SANDBOX },
	{ "get_sandbox_url", get_sandbox_url, .seeks = SEEKS_SANDBOX, .outside = true },
	{ "get_file_download_url", get_file_download_url, .seeks = SEEKS_SANDBOX, .outside = true },
	{ "sandbox_metrics", sandbox_metrics, .seeks = SEEKS_SANDBOX, .outside = true },
	{ NULL },
};
