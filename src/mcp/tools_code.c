/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools_code: runs code and installs packages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "http/json.h"
#include "mcp/tools.h"

/* --- run_code ------------------------------------------------------------------------------------------------ */

static int on_text(void *user, const char *text, size_t n)
{
	return run_output(user, text, n);
}

static int on_result(void *user, const struct atoll_result *res)
{
	(void)res;
	return run_output(user, "result", 6);
}

/* An image is a content item; the structured content refers to it by its index. */
static void show_image(struct tool_run *r, json_t *result, const char *form, const char *mime, const char *base64)
{
	if (!base64)
		return;
	autofree char *place = str_fmt("content[%zu]", json_array_size(r->content));

	run_image(r, mime, base64);
	json_object_set_new(result, form, json_string(place ? place : ""));
}

static void show_svg(struct tool_run *r, json_t *result, const char *svg)
{
	autobuf struct buf b = BUF_INIT(8u * 1024 * 1024);

	if (!svg)
		return;
	base64_encode(&b, str_of(svg), true);
	if (!b.bad)
		show_image(r, result, "svg", "image/svg+xml", buf_cstr(&b));
}

static void show_result(struct tool_run *r, const struct atoll_result *res, json_t *result)
{
	if (res->is_main && res->text)
		run_text(r, res->text, strlen(res->text));
	else if (!res->png && !res->jpeg && !res->svg && (res->text || res->markdown || res->html || res->json))
		run_text(r,
		    res->text           ? res->text
			: res->markdown ? res->markdown
			: res->json     ? res->json
					: res->html,
		    strlen(res->text        ? res->text
			    : res->markdown ? res->markdown
			    : res->json     ? res->json
					    : res->html));
	show_image(r, result, "png", "image/png", res->png);
	show_image(r, result, "jpeg", "image/jpeg", res->jpeg);
	show_svg(r, result, res->svg);
}

static void show_execution(struct tool_run *r, const struct atoll_execution *x)
{
	autofree char *text = atoll_execution_json(x);
	autojson json_t *j = text ? json_loads(text, 0, NULL) : NULL;
	json_t *results = json_object_get(j, "results"), *error = json_object_get(j, "error");

	if (x->n_out)
		run_text(r, x->out, x->n_out);
	if (x->n_err)
		run_say(r, "stderr:"), run_text(r, x->err, x->n_err);
	for (size_t i = 0; i < x->n_results; i++)
		show_result(r, x->results[i], json_array_get(results, i));
	if (x->error) {
		r->is_error = true;
		run_say(r, "%s: %s", x->error->name, x->error->value);
		run_text(r, x->error->traceback, strlen(x->error->traceback));
	}
	if (json_array_size(r->content) == 0)
		run_say(r, "(no output)");
	run_set(r, "text", x->text ? run_string(x->text, strlen(x->text)) : json_null());
	run_set(r, "logs", json_incref(json_object_get(j, "logs")));
	run_set(r, "results", json_incref(results));
	run_set(r, "error", error ? json_incref(error) : json_null());
	if (x->count)
		run_set(r, "executionCount", json_integer(x->count));
}

/* "512MB" or a number of MB; "0.5" or a number of processors. */
static int set_limits(struct tool_run *r)
{
	json_t *wanted = json_object_get(r->args, "resourceLimits");
	const json_t *memory = json_object_get(wanted, "memory"), *cpu = json_object_get(wanted, "cpu");
	struct atoll_limits *now = NULL;
	struct atoll_error e;
	struct atoll_pair set[2];
	char mb[24], cpus[24];
	size_t n = 0;

	if (json_is_string(memory)) {
		char *unit;
		double v = strtod(json_string_value(memory), &unit);

		v *= strcasecmp(unit, "gb") == 0 || strcasecmp(unit, "g") == 0 || strcasecmp(unit, "gib") == 0 ? 1024
													       : 1;
		if (!(v >= 1 && v < 1e9) || (*unit && !strcasestr("mb mib gb gib", unit)))
			return run_refuse(r,
				   "argument 'resourceLimits.memory' must be a number of MB, or a size such as 512MB "
				   "or 1GB"),
			       -1;
		(void)snprintf(mb, sizeof mb, "%.0f", v);
		set[n++] = (struct atoll_pair) { "memoryMB", mb };
	} else if (memory) {
		(void)snprintf(mb, sizeof mb, "%.0f", json_number_value(memory));
		set[n++] = (struct atoll_pair) { "memoryMB", mb };
	}
	if (cpu) {
		(void)snprintf(cpus, sizeof cpus, "%.3g",
		    json_is_string(cpu) ? strtod(json_string_value(cpu), NULL) : json_number_value(cpu));
		set[n++] = (struct atoll_pair) { "cpus", cpus };
	}
	if (n == 0)
		return 0;
	if (atoll_limits(sandbox_cache_client(r->host->cache), r->sandbox->id, set, n, &now, &e) < 0)
		return run_failed(r, &e);
	atoll_limits_free(now);
	return 0;
}

static void run_code(struct tool_run *r)
{
	const char *language = run_str(r, "language"), *context = run_some(r, "context_id");
	size_t n_envs;
	autofree struct atoll_pair *envs = run_pairs(r, "envs", &n_envs);
	struct atoll_code code = { .code = run_str(r, "code"),
		.language = context ? NULL
		    : language      ? language
				    : "python",
		.context_id = context,
		.envs = envs,
		.n_envs = n_envs,
		.timeout_ms = run_timeout_ms(r) };
	struct atoll_code_events on = { .on_stdout = on_text, .on_stderr = on_text, .on_result = on_result, .user = r };
	struct atoll_execution *x = NULL;
	struct atoll_error e;

	if (!run_may_code(r, language ? language : "python", code.code) || !run_sandbox(r) || set_limits(r) < 0)
		return;
	if (atoll_run_code(r->sandbox->sb, &code, &on, &x, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	show_execution(r, x);
	atoll_execution_free(x);
}

/* --- install_packages ---------------------------------------------------------------------------------------- */

static int on_output(void *user, enum atoll_stream which, const void *p, size_t n)
{
	(void)which;
	return run_output(user, p, n);
}

static const struct {
	const char *name;
	const char *const argv[6];
	const char *user; /* NULL: the template's user */
} managers[] = {
	{ "pip", { "pip", "install", "--no-input", "--disable-pip-version-check" }, NULL },
	{ "npm", { "npm", "install", "--no-audit", "--no-fund" }, NULL },
	{ "apt", { "apt-get", "install", "-y", "--no-install-recommends" }, "root" },
};

#define PACKAGES_MAX 100

/* Each package must be a name, not an option, URL or path, and the policy must allow the command. */
static bool may_install(struct tool_run *r, const char *manager, const char *const *argv, const json_t *list)
{
	autobuf struct buf line = BUF_INIT(64 * 1024);
	struct atoll_error e;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (name[0] == '-') {
			run_refuse(r, "argument 'packages[%zu]' must be a package name, not an option", i);
			return false;
		}
		if (atoll_package_check(manager, name, &e) < 0) {
			run_refuse(r, "argument 'packages[%zu]': %s", i, e.text);
			return false;
		}
	}
	for (; *argv; argv++)
		buf_fmt(&line, "%s'%s'", line.n ? " " : "", *argv); /* a name has no quotes */
	return line.bad ? run_refuse(r, "argument 'packages' is too long"), false : run_may_command(r, buf_cstr(&line));
}

static void install_packages(struct tool_run *r)
{
	const json_t *list = json_object_get(r->args, "packages");
	const char *manager = run_str(r, "manager"), *argv[PACKAGES_MAX + 8];
	const struct atoll_pair quiet[] = { { "DEBIAN_FRONTEND", "noninteractive" } };
	size_t m = 0, n = 0;
	struct atoll_output *out;
	struct atoll_error e;

	while (manager && strcmp(managers[m].name, manager) != 0)
		m++; /* ends: the schema allows only these names */
	for (; managers[m].argv[n]; n++)
		argv[n] = managers[m].argv[n];
	for (size_t i = 0; i < json_array_size(list); i++)
		argv[n++] = json_string_value(json_array_get(list, i));
	argv[n] = NULL;
	struct atoll_command cmd = { .argv = argv,
		.as_user = managers[m].user,
		.envs = quiet,
		.n_envs = 1,
		.timeout_ms = run_timeout_or(r, 300000) };

	if (!may_install(r, managers[m].name, argv, list) || !run_sandbox(r))
		return;
	if (atoll_command_run(r->sandbox->sb, &cmd, on_output, r, &out, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	r->is_error = out->exit.code != 0;
	if (out->n_out)
		run_text(r, out->out, out->n_out);
	if (out->n_err)
		run_text(r, out->err, out->n_err);
	run_say(r, "%s", r->is_error ? out->exit.status : "Installed");
	run_set(r, "exitCode", json_integer(out->exit.code));
	run_set(r, "manager", json_string(managers[m].name));
	atoll_output_free(out);
}

const struct tool_handler tools_code[] = {
	{ "run_code", run_code, .seeks = SEEKS_CONTEXT },
	{ "execute_code", run_code, .seeks = SEEKS_CONTEXT },
	{ "notebook_execCell", run_code, .seeks = SEEKS_CONTEXT }, /* its name in SDKs before 1.0 */
	{ "executeCode", run_code, .seeks = SEEKS_CONTEXT },
	{ "install_packages", install_packages },
	{ NULL },
};
