/* SPDX-License-Identifier: Apache-2.0 */
/* agent/intent_words: splits a message into words and interprets them. */
#pragma once

#include "agent/intent.h"

#define WORDS_MAX 4096
#define WORD_SIZE 96

struct words {                            /* the first WORDS_MAX words */
	char lower[WORDS_MAX][WORD_SIZE]; /* without surrounding quotes and punctuation; truncated */
	struct str raw[WORDS_MAX];        /* original spelling, likewise stripped */
	size_t n;
};

int words_split(struct str text, struct words *ret);

bool intent_is_assignment(struct str line); /* x = ..., x += ...; not an English sentence with = */
bool intent_is_call(struct str line);       /* name(...) or a.b(...), followed by nothing but ; */
bool intent_asks_for_sum(const struct words *w);
bool intent_asks_to_run(const struct words *w);
bool intent_about_sandbox(const struct words *w, enum intent_kind *ret);
unsigned intent_seconds(const struct words *w); /* "10 minutes"; 0: none */
int intent_ids(const struct words *w, struct intent *to);

/* 1: *to is filled in; 0: not requested; -ENOMEM. */
int intent_install(const struct words *w, struct intent *to);
int intent_git(struct str prose, const struct words *w, struct intent *to);
