/* SPDX-License-Identifier: Apache-2.0 */
/* policy: declarations shared by the files of the policy: rules and findings. */
#pragma once

#include <jansson.h>

#include "client/agent/shell_words.h"
#include "client/atoll.h"

#define POLICY_NEST_MAX 12 /* sh -c "sh -c '...'" */
#define POLICY_WORK_MAX (8 * 1024 * 1024)
#define POLICY_HOME "/home/user"

enum policy_on { POLICY_COMMAND = 1, POLICY_CODE = 2, POLICY_FILE = 4 };

struct policy_rule {                            /* a rule added by the operator */
	char *id, *reason, *language, *pattern; /* language: NULL for any */
	unsigned on;                            /* policy_on */
	enum atoll_severity severity;
	unsigned operations; /* for files: bits of policy_operation(); 0: any */
	bool raw;            /* applies to the text as given, not to each command */
	void *re;            /* pcre2_code */
};

struct policy_key {
	char *key;
	enum atoll_policy_mode mode;
};

struct atoll_policy {
	enum atoll_policy_mode mode;
	struct policy_key *keys;
	size_t n_keys;
	struct policy_rule *rules;
	size_t n_rules;
	char **disabled; /* ids of disabled built-in rules */
	size_t n_disabled;
};

/* The most severe result so far. */
struct finding {
	const struct atoll_policy *p;
	enum atoll_severity severity;
	const char *rule, *reason;
	unsigned nested;
	size_t work;    /* bytes scanned, limited because texts can nest */
	char cwd[4096]; /* set by `cd`; "" if unknown */
};

void finding_add(struct finding *f, const char *rule, enum atoll_severity severity, const char *reason);

/* --- built-in rules --- */

struct policy_builtin {
	const char *id;
	enum atoll_severity severity;
	const char *reason;
};

extern const struct policy_builtin policy_builtins[]; /* terminated by id NULL */
void finding_builtin(struct finding *f, const char *id);

/* --- the parts --- */

void policy_scan_shell(struct finding *f, struct str text); /* scans all commands of the text */
void policy_scan_words(struct finding *f, const struct shell_script *s, const struct shell_command *c,
    const struct shell_word *w, size_t n);
void policy_scan_code(struct finding *f, const char *language, struct str code);
void policy_scan_path(struct finding *f, unsigned operation, const char *path);

bool policy_has_key(const struct atoll_policy *p, const char *key); /* the rule has its own mode */

unsigned policy_operation(const char *name); /* returns one bit, or 0 if unknown */

/* Applies the operator's rules to a text. */
void policy_match(struct finding *f, unsigned on, bool raw, const char *language, unsigned operation, struct str text);
int policy_compile(struct policy_rule *r, struct atoll_error *e);
void policy_rule_done(struct policy_rule *r);

/* Resolves /a/./b//../c to /a/c. */
bool policy_resolve(const char *base, const char *path, char *ret, size_t size);
