/* SPDX-License-Identifier: Apache-2.0 */
/* agent/intent: finds what a message asks for, without doing it. Ambiguous sentences are ignored. Does no I/O.
 *
 * All fenced blocks are code to run, in order. The sentences around them can ask to create, list or kill sandboxes, to
 * install packages, or to use git. A sandbox is killed only if the sentence contains its id. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define INTENT_TEXT_MAX (1024 * 1024)
#define INTENTS_MAX 64
#define INTENT_NAMES_MAX 32

enum intent_kind {
	INTENT_CODE, /* code: NULL if the message asks to run code but has none */
	INTENT_SUM,  /* code: the expression; value: its result, or why: the reason it has none */
	INTENT_CREATE,
	INTENT_LIST,
	INTENT_KILL,    /* names: ids of the sandboxes to kill; may be empty */
	INTENT_INSTALL, /* names, by manager */
	INTENT_GIT,     /* verb, url, dir, text */
};

struct intent {
	enum intent_kind kind;
	char *language; /* of a fence; NULL: unspecified */
	char *code, *value;
	const char *why;
	unsigned timeout_s;  /* of a sandbox; 0: unspecified */
	const char *manager; /* "pip", "npm", "apt" */
	char *names[INTENT_NAMES_MAX];
	size_t n_names;
	const char *verb;       /* "clone", "status", "diff", "commit", "pull", "push" */
	char *url, *dir, *text; /* of git; text: the message of a commit */
};

struct intents {
	struct intent v[INTENTS_MAX];
	size_t n;
	bool more; /* the message has more intents than fit */
};

int intents_parse(struct str text, struct intents *ret); /* -E2BIG, -ENOMEM */
void intents_done(struct intents *l);

const char *intent_action(enum intent_kind k); /* "EXECUTE_CODE", "MANAGE_SANDBOX", "INSTALL_PACKAGES", "GIT" */
