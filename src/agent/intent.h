/* SPDX-License-Identifier: Apache-2.0 */
/* agent/intent: what a message asks for. It is read, nothing is done; and what is not said plainly is not asked for. No
 * I/O.
 *
 * Fenced blocks are code to be run, all of them, in their order. The sentences around them can ask for sandboxes to be
 * made, listed or ended, for packages, for git. A sandbox is ended only if its id stands in the sentence. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define INTENT_TEXT_MAX (1024 * 1024)
#define INTENTS_MAX 64
#define INTENT_NAMES_MAX 32

enum intent_kind {
	INTENT_CODE, /* code: NULL if the message asks to run some and has none */
	INTENT_SUM,  /* code: the expression, value: its result; or why: it has none */
	INTENT_CREATE,
	INTENT_LIST,
	INTENT_KILL,    /* sandboxes; names: the ids to kill, which may be none */
	INTENT_INSTALL, /* names, by manager */
	INTENT_GIT,     /* verb, url, dir, text */
};

struct intent {
	enum intent_kind kind;
	char *language; /* of a fence; NULL: not told */
	char *code, *value;
	const char *why;
	unsigned timeout_s;  /* of a sandbox; 0: not told */
	const char *manager; /* "pip", "npm", "apt" */
	char *names[INTENT_NAMES_MAX];
	size_t n_names;
	const char *verb;       /* "clone", "status", "diff", "commit", "pull", "push" */
	char *url, *dir, *text; /* of git; text: the message of a commit */
};

struct intents {
	struct intent v[INTENTS_MAX];
	size_t n;
	bool more; /* there were more than fit */
};

int intents_parse(struct str text, struct intents *ret); /* -E2BIG, -ENOMEM */
void intents_done(struct intents *l);

const char *intent_action(enum intent_kind k); /* "EXECUTE_CODE", "MANAGE_SANDBOX", "INSTALL_PACKAGES", "GIT" */
