/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/policy: evaluates commands, code and paths; contains the built-in rules. */
#include "client/agent/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

const struct policy_builtin policy_builtins[] = {
	{ "rm-root", ATOLL_SEVERITY_CRITICAL, "deletes the root or a system directory recursively" },
	{ "format", ATOLL_SEVERITY_CRITICAL, "formats a disk" },
	{ "mkfs", ATOLL_SEVERITY_CRITICAL, "creates a file system on a device" },
	{ "dd", ATOLL_SEVERITY_HIGH, "copies raw blocks (dd if=)" },
	{ "shutdown", ATOLL_SEVERITY_HIGH, "shuts down the machine" },
	{ "reboot", ATOLL_SEVERITY_HIGH, "restarts the machine" },
	{ "sudo", ATOLL_SEVERITY_HIGH, "runs a command as another user (sudo)" },
	{ "su", ATOLL_SEVERITY_HIGH, "becomes another user (su)" },
	{ "passwd", ATOLL_SEVERITY_HIGH, "changes a password" },
	{ "chmod-777", ATOLL_SEVERITY_MEDIUM, "makes files world-writable (chmod 777)" },
	{ "curl-pipe-shell", ATOLL_SEVERITY_CRITICAL, "runs a download (curl into a shell)" },
	{ "wget-pipe-shell", ATOLL_SEVERITY_CRITICAL, "runs a download (wget into a shell)" },
	{ "too-complex", ATOLL_SEVERITY_MEDIUM, "is too long or too deeply nested to be checked" },
	{ "system-file", ATOLL_SEVERITY_HIGH, "changes a system file" },
	{ "secret-file", ATOLL_SEVERITY_HIGH, "reads accounts, passwords or memory of the system" },
	{ "bad-path", ATOLL_SEVERITY_MEDIUM, "is not a valid path" },
	{ "bad-operation", ATOLL_SEVERITY_MEDIUM,
	    "is not a file operation: read, write, list, remove, upload, download" },
	{ NULL, ATOLL_SEVERITY_NONE, NULL },
};

void finding_add(struct finding *f, const char *rule, enum atoll_severity severity, const char *reason)
{
	if (severity <= f->severity)
		return;
	f->severity = severity;
	f->rule = rule;
	f->reason = reason;
}

void finding_builtin(struct finding *f, const char *id)
{
	for (size_t i = 0; i < f->p->n_disabled; i++) {
		if (strcmp(f->p->disabled[i], id) == 0)
			return;
	}
	for (const struct policy_builtin *b = policy_builtins; b->id; b++) {
		if (strcmp(b->id, id) == 0)
			finding_add(f, b->id, b->severity, b->reason);
	}
}

/* --- paths --- */

bool policy_resolve(const char *base, const char *path, char *ret, size_t size)
{
	struct str parts[] = { str_of(path[0] == '/' ? "" : base), str_of(path) };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		for (struct str rest = parts[i]; rest.p;) {
			struct str name = str_cut(&rest, '/');

			if (name.n == 0 || str_is(name, "."))
				continue;
			if (str_is(name, "..")) {
				while (n > 0 && ret[--n] != '/')
					;
				continue;
			}
			if (n + 1 + name.n >= size)
				return false;
			ret[n++] = '/';
			memcpy(ret + n, name.p, name.n);
			n += name.n;
		}
	}
	if (size < 2)
		return false;
	if (n == 0)
		ret[n++] = '/';
	ret[n] = '\0';
	return true;
}

bool atoll_path_resolve(const char *home, const char *path, char *ret, size_t size)
{
	if (path[0] == '~' && (path[1] == '/' || !path[1]))
		path += path[1] ? 2 : 1;
	return policy_resolve(home, path, ret, size);
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

enum { FILE_READ = 1, FILE_WRITE = 2, FILE_LIST = 4, FILE_REMOVE = 8, FILE_UPLOAD = 16, FILE_DOWNLOAD = 32 };

unsigned policy_operation(const char *name)
{
	static const char *const names[] = { "read", "write", "list", "remove", "upload", "download" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return 1u << i;
	}
	return strcmp(name, "delete") == 0 ? FILE_REMOVE : 0;
}

static bool is_secret(const char *path)
{
	static const char *const all[] = {
		"/etc/passwd",
		"/etc/passwd-",
		"/etc/shadow",
		"/etc/shadow-",
		"/etc/gshadow",
		"/etc/gshadow-",
		"/etc/sudoers",
		"/etc/sudoers.d",
		"/root/.ssh",
	};
	const char *name = strrchr(path, '/');

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (is_below(path, all[i]))
			return true;
	}
	return is_below(path, "/proc") && name &&
	    (strcmp(name, "/mem") == 0 || strcmp(name, "/environ") == 0 || strcmp(name, "/kcore") == 0);
}

static bool is_system(const char *path)
{
	static const char *const all[] = {
		"/bin",
		"/boot",
		"/dev",
		"/etc",
		"/lib",
		"/lib32",
		"/lib64",
		"/proc",
		"/root",
		"/sbin",
		"/sys",
		"/usr",
		"/var/lib/dpkg",
		"/run",
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (is_below(path, all[i]) && !is_below(path, "/usr/local"))
			return true;
	}
	return strcmp(path, "/") == 0;
}

void policy_scan_path(struct finding *f, unsigned operation, const char *path)
{
	char whole[4096];

	if (!*path || !atoll_path_resolve(POLICY_HOME, path, whole, sizeof whole)) {
		finding_builtin(f, "bad-path");
		return;
	}
	if ((operation & (FILE_READ | FILE_DOWNLOAD)) && is_secret(whole))
		finding_builtin(f, "secret-file");
	if ((operation & (FILE_WRITE | FILE_UPLOAD | FILE_REMOVE)) && is_system(whole))
		finding_builtin(f, "system-file");
	policy_match(f, POLICY_FILE, false, NULL, operation, str_of(whole));
}

/* --- verdicts --- */

bool policy_has_key(const struct atoll_policy *p, const char *key)
{
	for (size_t i = 0; i < p->n_keys; i++) {
		if (strcmp(p->keys[i].key, key) == 0)
			return true;
	}
	return false;
}

enum atoll_policy_mode atoll_policy_mode(const struct atoll_policy *p, const char *key)
{
	for (size_t i = 0; key && i < p->n_keys; i++) {
		if (strcmp(p->keys[i].key, key) == 0)
			return p->keys[i].mode;
	}
	return p->mode;
}

static bool is_off(const struct atoll_policy *p, const char *key, struct atoll_verdict *v)
{
	*v = (struct atoll_verdict) { .allowed = true, .mode = atoll_policy_mode(p, key) };
	return v->mode == ATOLL_POLICY_OFF;
}

static void conclude(const struct finding *f, struct atoll_verdict *v)
{
	v->severity = f->severity;
	v->allowed = f->severity == ATOLL_SEVERITY_NONE || v->mode != ATOLL_POLICY_DENY;
	(void)snprintf(v->rule, sizeof v->rule, "%s", f->rule ? f->rule : "");
	(void)snprintf(v->reason, sizeof v->reason, "%s", f->reason ? f->reason : "");
}

void atoll_policy_command(const struct atoll_policy *p, const char *key, const char *command, struct atoll_verdict *ret)
{
	struct finding f = { .p = p };

	if (is_off(p, key, ret))
		return;
	policy_match(&f, POLICY_COMMAND, true, NULL, 0, str_of(command));
	policy_scan_shell(&f, str_of(command));
	conclude(&f, ret);
}

void atoll_policy_code(const struct atoll_policy *p, const char *key, const char *language, const char *code,
    struct atoll_verdict *ret)
{
	struct finding f = { .p = p };

	if (is_off(p, key, ret))
		return;
	policy_match(&f, POLICY_CODE, false, language, 0, str_of(code));
	policy_scan_code(&f, language ? language : "python", str_of(code));
	conclude(&f, ret);
}

void atoll_policy_file(const struct atoll_policy *p, const char *key, const char *operation, const char *path,
    struct atoll_verdict *ret)
{
	struct finding f = { .p = p };
	unsigned op = policy_operation(operation);

	if (is_off(p, key, ret))
		return;
	if (op)
		policy_scan_path(&f, op, path);
	else
		finding_builtin(&f, "bad-operation");
	conclude(&f, ret);
}

const char *atoll_severity_name(enum atoll_severity s)
{
	static const char *const names[] = { "none", "low", "medium", "high", "critical" };

	return names[s];
}

const char *atoll_policy_mode_name(enum atoll_policy_mode m)
{
	static const char *const names[] = { "off", "warn", "deny" };

	return names[m];
}

char *atoll_verdict_json(const struct atoll_verdict *v)
{
	bool found = v->severity != ATOLL_SEVERITY_NONE;
	autojson json_t *j = json_pack("{s:b,s:s,s:s,s:s*,s:s*}", "allowed", v->allowed, "mode",
	    atoll_policy_mode_name(v->mode), "severity", atoll_severity_name(v->severity), "rule",
	    found ? v->rule : NULL, "reason", found ? v->reason : NULL);

	return j ? json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
}
