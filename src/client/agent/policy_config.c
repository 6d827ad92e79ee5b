/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/policy_config: the modes and rules of an operator, and their patterns.
 *
 * Patterns are PCRE2, with limits on the steps, depth and memory of a match, because the text may have been written
 * to make the pattern slow. A match that hits a limit counts as a match. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <fcntl.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/agent/policy.h"
#include "client/client.h"
#include "http/json.h"

#define CONFIG_MAX (1024 * 1024)
#define RULES_MAX 500
#define KEYS_MAX 1000
#define PATTERN_MAX 4096
#define MATCH_STEPS 200000
#define MATCH_DEPTH 2000
#define MATCH_HEAP_KB 8192

/* --- patterns --- */

int policy_compile(struct policy_rule *r, struct atoll_error *e)
{
	int no = 0;
	PCRE2_SIZE at = 0;
	char why[160] = "";
	pcre2_code *re = NULL;

	if (strlen(r->pattern) > PATTERN_MAX)
		return client_fail(e, EINVAL, 0, "rule '%.60s': 'pattern' is longer than %d bytes", r->id, PATTERN_MAX);
	re = pcre2_compile((PCRE2_SPTR)r->pattern, PCRE2_ZERO_TERMINATED,
	    PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &no, &at, NULL);
	if (!re) {
		(void)pcre2_get_error_message(no, (PCRE2_UCHAR *)why, sizeof why);
		return client_fail(e, EINVAL, 0, "rule '%.60s': 'pattern' at character %zu: %s", r->id, (size_t)at,
		    why);
	}
	r->re = re;
	return 0;
}

static bool matches(const struct policy_rule *r, struct str text)
{
	pcre2_match_context *ctx = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(r->re, NULL);
	int rc = PCRE2_ERROR_NOMEMORY;

	if (ctx && data) {
		(void)pcre2_set_match_limit(ctx, MATCH_STEPS);
		(void)pcre2_set_depth_limit(ctx, MATCH_DEPTH);
		(void)pcre2_set_heap_limit(ctx, MATCH_HEAP_KB);
		rc = pcre2_match(r->re, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, 0, 0, data, ctx);
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(ctx);
	return rc != PCRE2_ERROR_NOMATCH;
}

void policy_match(struct finding *f, unsigned on, bool raw, const char *language, unsigned operation, struct str text)
{
	for (size_t i = 0; i < f->p->n_rules; i++) {
		const struct policy_rule *r = &f->p->rules[i];

		if (!(r->on & on) || ((on & POLICY_COMMAND) && r->raw != raw) || r->severity <= f->severity)
			continue;
		if ((r->language && language && strcmp(r->language, language) != 0) ||
		    (operation && r->operations && !(r->operations & operation)))
			continue;
		if (matches(r, text))
			finding_add(f, r->id, r->severity, r->reason);
	}
}

void policy_rule_done(struct policy_rule *r)
{
	pcre2_code_free(r->re);
	free(r->id);
	free(r->reason);
	free(r->language);
	free(r->pattern);
	*r = (struct policy_rule) { 0 };
}

/* --- reading --- */

static int from_err(struct atoll_error *e, const struct err *why)
{
	return client_fail(e, why->no, 0, "%s", why->text);
}

static int parse_mode(const char *name, const char *field, enum atoll_policy_mode *ret, struct atoll_error *e)
{
	for (enum atoll_policy_mode m = ATOLL_POLICY_OFF; m <= ATOLL_POLICY_DENY; m++) {
		if (strcmp(atoll_policy_mode_name(m), name) == 0) {
			*ret = m;
			return 0;
		}
	}
	return client_fail(e, EINVAL, 0, "%s '%.60s' is not one of off, warn, deny", field, name);
}

static int parse_severity(const char *name, enum atoll_severity *ret)
{
	for (enum atoll_severity s = ATOLL_SEVERITY_LOW; s <= ATOLL_SEVERITY_CRITICAL; s++) {
		if (strcmp(atoll_severity_name(s), name) == 0) {
			*ret = s;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_on(const char *name, unsigned *ret)
{
	*ret = strcmp(name, "command") == 0 ? POLICY_COMMAND
	    : strcmp(name, "code") == 0     ? POLICY_CODE
	    : strcmp(name, "file") == 0     ? POLICY_FILE
	    : strcmp(name, "any") == 0      ? POLICY_COMMAND | POLICY_CODE | POLICY_FILE
					    : 0;
	return *ret ? 0 : -EINVAL;
}

static int parse_operations(const json_t *list, unsigned *ret)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		unsigned bit = json_is_string(v) ? policy_operation(json_string_value(v)) : 0;

		if (!bit)
			return -EINVAL;
		*ret |= bit;
	}
	return 0;
}

static int known_fields(const json_t *o, const char *const *known, const char *where, struct atoll_error *e)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], name) != 0)
			i++;
		if (!known[i])
			return client_fail(e, EINVAL, 0, "%s: unknown field '%.60s'", where, name);
	}
	return 0;
}

static int parse_rule(const json_t *o, struct policy_rule *ret, struct atoll_error *e)
{
	static const char *const known[] = { "id", "on", "language", "pattern", "severity", "reason", "operations",
		"raw", NULL };
	const char *id = NULL, *pattern = NULL, *reason = NULL, *on = "command", *severity = "high", *language = NULL;
	struct err why = ERR_INIT;
	json_t *operations = NULL;
	struct policy_rule r = { 0 };

	if (!json_is_object(o))
		return client_fail(e, EINVAL, 0, "each of 'rules' must be an object");
	if (known_fields(o, known, "rule", e) < 0)
		return -e->no;
	if (json_need_str(o, "id", &id, &why) < 0 || json_need_str(o, "pattern", &pattern, &why) < 0 ||
	    json_get_str(o, "reason", &reason, &why) < 0 || json_get_str(o, "on", &on, &why) < 0 ||
	    json_get_str(o, "severity", &severity, &why) < 0 || json_get_str(o, "language", &language, &why) < 0 ||
	    json_get_bool(o, "raw", &r.raw, &why) < 0 || json_get_arr(o, "operations", &operations, &why) < 0)
		return from_err(e, &why);
	if (!*id || strlen(id) >= sizeof((struct atoll_verdict *)NULL)->rule ||
	    strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != strlen(id))
		return client_fail(e, EINVAL, 0, "rule: 'id' must be up to 63 of a-z 0-9 - _ .");
	if (parse_on(on, &r.on) < 0)
		return client_fail(e, EINVAL, 0, "rule '%s': 'on' is not one of command, code, file, any", id);
	if (parse_severity(severity, &r.severity) < 0)
		return client_fail(e, EINVAL, 0, "rule '%s': 'severity' is not one of low, medium, high, critical", id);
	if (parse_operations(operations, &r.operations) < 0)
		return client_fail(e, EINVAL, 0,
		    "rule '%s': 'operations' has one that is not read, write, list, remove, upload or download", id);
	r.id = strdup(id);
	r.pattern = strdup(pattern);
	r.reason = strdup(reason ? reason : "matches a pattern set by the operator");
	r.language = language ? strdup(language) : NULL;
	if (!r.id || !r.pattern || !r.reason || (language && !r.language) ? client_no_memory(e) < 0
									  : policy_compile(&r, e) < 0) {
		policy_rule_done(&r);
		return -e->no;
	}
	*ret = r;
	return 0;
}

static int add_rules(struct atoll_policy *p, const json_t *list, struct atoll_error *e)
{
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		struct policy_rule *v = p->n_rules < RULES_MAX ? realloc(p->rules, (p->n_rules + 1) * sizeof *v) : NULL;

		if (!v)
			return client_fail(e, p->n_rules < RULES_MAX ? ENOMEM : E2BIG, 0, "more than %d rules",
			    RULES_MAX);
		p->rules = v;
		if (parse_rule(o, &v[p->n_rules], e) < 0)
			return -e->no;
		p->n_rules++;
	}
	return 0;
}

static int add_disabled(struct atoll_policy *p, const json_t *list, struct atoll_error *e)
{
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		const char *id = json_string_value(o);
		const struct policy_builtin *b = policy_builtins;
		char **v = realloc(p->disabled, (p->n_disabled + 1) * sizeof *v);

		if (!v)
			return client_no_memory(e);
		p->disabled = v;
		while (id && b->id && strcmp(b->id, id) != 0)
			b++;
		if (!id || !b->id)
			return client_fail(e, EINVAL, 0, "'disable' contains '%.60s', which is not a built-in rule",
			    id ? id : "");
		v[p->n_disabled] = strdup(id);
		if (!v[p->n_disabled])
			return client_no_memory(e);
		p->n_disabled++;
	}
	return 0;
}

int atoll_policy_set_mode(struct atoll_policy *p, const char *key, enum atoll_policy_mode mode, struct atoll_error *e)
{
	if (!key) {
		p->mode = mode;
		return 0;
	}
	for (size_t i = 0; i < p->n_keys; i++) {
		if (strcmp(p->keys[i].key, key) == 0) {
			p->keys[i].mode = mode;
			return 0;
		}
	}
	struct policy_key *v = p->n_keys < KEYS_MAX ? realloc(p->keys, (p->n_keys + 1) * sizeof *v) : NULL;
	char *copy = v ? strdup(key) : NULL;

	if (v)
		p->keys = v;
	if (!copy)
		return client_fail(e, p->n_keys < KEYS_MAX ? ENOMEM : E2BIG, 0, "more than %d keys have their own mode",
		    KEYS_MAX);
	p->keys[p->n_keys++] = (struct policy_key) { copy, mode };
	return 0;
}

static int add_keys(struct atoll_policy *p, const json_t *o, struct atoll_error *e)
{
	enum atoll_policy_mode mode = ATOLL_POLICY_DENY;
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		if (!json_is_string(v))
			return client_fail(e, EINVAL, 0, "'keys': the mode of '%.60s' must be a string", name);
		if (parse_mode(json_string_value(v), "'keys': mode", &mode, e) < 0 ||
		    atoll_policy_set_mode(p, name, mode, e) < 0)
			return -e->no;
	}
	return 0;
}

static int add_all(struct atoll_policy *p, const json_t *o, struct atoll_error *e)
{
	static const char *const known[] = { "mode", "keys", "rules", "disable", NULL };
	json_t *rules = NULL, *disable = NULL, *keys = NULL;
	const char *mode = NULL;
	struct err why = ERR_INIT;

	if (known_fields(o, known, "policy", e) < 0)
		return -e->no;
	if (json_get_str(o, "mode", &mode, &why) < 0 || json_get_obj(o, "keys", &keys, &why) < 0 ||
	    json_get_arr(o, "rules", &rules, &why) < 0 || json_get_arr(o, "disable", &disable, &why) < 0)
		return from_err(e, &why);
	if (mode && parse_mode(mode, "'mode'", &p->mode, e) < 0)
		return -e->no;
	if (add_keys(p, keys, e) < 0 || add_disabled(p, disable, e) < 0 || add_rules(p, rules, e) < 0)
		return -e->no;
	return 0;
}

/* --- creating and freeing a policy --- */

static void policy_done(struct atoll_policy *p, size_t rules_from, size_t keys_from, size_t disabled_from)
{
	for (; p->n_rules > rules_from; p->n_rules--)
		policy_rule_done(&p->rules[p->n_rules - 1]);
	for (; p->n_keys > keys_from; p->n_keys--)
		free(p->keys[p->n_keys - 1].key);
	for (; p->n_disabled > disabled_from; p->n_disabled--)
		free(p->disabled[p->n_disabled - 1]);
}

int atoll_policy_add(struct atoll_policy *p, const char *json, size_t n, struct atoll_error *e)
{
	struct atoll_policy was = *p;
	struct err why = ERR_INIT;
	autojson json_t *o = NULL;
	enum atoll_policy_mode modes[KEYS_MAX];

	if (json_read_object((struct str) { json, n }, false, &o, &why) < 0)
		return client_fail(e, EINVAL, 0, "the policy: %s", why.text);
	for (size_t i = 0; i < was.n_keys; i++)
		modes[i] = p->keys[i].mode;
	if (add_all(p, o, e) == 0)
		return 0;
	policy_done(p, was.n_rules, was.n_keys, was.n_disabled);
	p->mode = was.mode;
	for (size_t i = 0; i < was.n_keys; i++)
		p->keys[i].mode = modes[i];
	return -e->no;
}

int atoll_policy_load(struct atoll_policy *p, const char *path, struct atoll_error *e)
{
	autofree char *text = malloc(CONFIG_MAX);
	ssize_t n = text ? file_read(AT_FDCWD, path, text, CONFIG_MAX) : -ENOMEM;

	if (n < 0)
		return client_fail(e, (int)-n, 0, "read '%.200s': %s", path, strerrordesc_np((int)-n));
	return atoll_policy_add(p, text, (size_t)n, e);
}

int atoll_policy_new(struct atoll_policy **ret, struct atoll_error *e)
{
	struct atoll_policy *p = calloc(1, sizeof *p);

	if (!p)
		return client_no_memory(e);
	p->mode = ATOLL_POLICY_DENY;
	*ret = p;
	return 0;
}

void atoll_policy_free(struct atoll_policy *p)
{
	if (!p)
		return;
	policy_done(p, 0, 0, 0);
	free(p->rules);
	free(p->keys);
	free(p->disabled);
	free(p);
}

static bool is_disabled(const struct atoll_policy *p, const char *id)
{
	for (size_t i = 0; i < p->n_disabled; i++) {
		if (strcmp(p->disabled[i], id) == 0)
			return true;
	}
	return false;
}

char *atoll_policy_json(const struct atoll_policy *p)
{
	autojson json_t *j = json_pack("{s:s,s:{},s:[]}", "mode", atoll_policy_mode_name(p->mode), "keys", "rules");
	json_t *rules = json_object_get(j, "rules");

	for (size_t i = 0; i < p->n_keys; i++)
		(void)json_object_set_new(json_object_get(j, "keys"), p->keys[i].key,
		    json_string(atoll_policy_mode_name(p->keys[i].mode)));
	for (const struct policy_builtin *b = policy_builtins; b->id; b++)
		(void)json_array_append_new(rules,
		    json_pack("{s:s,s:s,s:s,s:b}", "id", b->id, "severity", atoll_severity_name(b->severity), "reason",
			b->reason, "enabled", !is_disabled(p, b->id)));
	for (size_t i = 0; i < p->n_rules; i++)
		(void)json_array_append_new(rules,
		    json_pack("{s:s,s:s,s:s,s:s,s:b}", "id", p->rules[i].id, "severity",
			atoll_severity_name(p->rules[i].severity), "reason", p->rules[i].reason, "pattern",
			p->rules[i].pattern, "enabled", true));
	return j ? json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
}
