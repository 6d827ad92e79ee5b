/* SPDX-License-Identifier: Apache-2.0 */
/* config: the operator's settings, from the command line and a file of `key = value` lines.
 *
 * Both name the same keys (`max_pids = 512` is `--max-pids 512`), those of ipc/settings.tbl. The command line wins
 * over the file whatever their order. Paths are made absolute, so nothing depends on the directory the server
 * was started in. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/inet.h"
#include "base/str.h"
#include "ipc/msg.h"
#include "ipc/settings.h"

enum config_limit {
#define LIMIT(id, ...) id,
#include "ipc/settings.tbl"
	LIM_COUNT,
};

struct config {
	/* One member per setting. "": not set. A number that is 0 by default is chosen by config_settle() or later, or
	 * is no limit. */
#define TEXT(name, size, ...) char name[size];
#define PATH(name, ...) char name[PATH_MAX];
#define NUMBER(name, ...) uint64_t name;
#define FLAG(name, ...) bool name;
#define WORD(name, type, ...) enum type name;
#define RANGES(name, ...) struct inet_ranges name;
#include "ipc/settings.tbl"
	uint64_t defaults[LIM_COUNT], maxima[LIM_COUNT]; /* of a sandbox; defaults: 0 until config_settle() */
	struct template_limits {                         /* ... of a template; 0: as above */
		char name[TEMPLATE_NAME_SIZE];
		uint64_t defaults[LIM_COUNT], maxima[LIM_COUNT];
	} template_limits[TEMPLATES_MAX];
	uint32_t n_template_limits;
	struct msg_template templates[TEMPLATES_MAX];
	uint32_t n_templates;
	bool version, help; /* only print that */
};

/* Reads argv and the file it names. On failure e says which option, or which line and key. */
int config_load(struct config *c, int argc, char **argv, struct err *e);

/* Copies the settings that may change while the server runs. */
void config_reload(struct config *c, const struct config *again);

/* The two halves, exported for tests: applies the text of a file to c, and sets one key. */
int config_text(struct config *c, struct str text, struct err *e);
int config_set(struct config *c, struct str key, struct str value, struct err *e);
void config_defaults(struct config *c);
/* fills in what was not set and checks that the values are consistent */
int config_settle(struct config *c, struct err *e);

void config_print_help(void);

/* config/pass.c: what the program gets. Members that are no settings are zero. */
void config_for_front(const struct config *c, struct front_options *o);
void config_for_egress(const struct config *c, struct egress_options *o);
void config_for_agent(const struct config *c, struct agent_options *o);
void config_for_webhooks(const struct config *c, struct webhooks_options *o);
void config_for_oidc(const struct config *c, struct oidc_options *o);
void config_for_refusals(const struct config *c, struct refusals_options *o);
void config_for_pull(const struct config *c, struct pull_options *o);

/* Returns the next word of a list separated by blanks; empty at the end. */
struct str config_next_word(struct str *list);

/* parses a value as the file does for that key; -EINVAL, -ERANGE */
int config_number(struct str key, struct str value, uint64_t *ret);

/* config/limits.c */
struct msg_limits config_limits(const uint64_t v[LIM_COUNT]);
int config_settle_limits(struct config *c, struct err *e);
int config_set_template_limits(struct config *c, struct str value); /* NAME memory_mb=512 max_memory_mb=1024 ... */
