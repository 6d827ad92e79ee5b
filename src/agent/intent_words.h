/* SPDX-License-Identifier: Apache-2.0 */
/* agent/intent_words: a message as words, and what they ask for. */
#pragma once

#include "agent/intent.h"

#define WORDS_MAX 4096
#define WORD_SIZE 96

struct words {                            /* of the first WORDS_MAX */
	char lower[WORDS_MAX][WORD_SIZE]; /* without quotes and punctuation around them; longer ones are cut */
	struct str raw[WORDS_MAX];        /* as they stand in the text, likewise stripped */
	size_t n;
};

int words_split(struct str text, struct words *ret);

bool intent_is_assignment(struct str line); /* x = ..., x += ... and not an English sentence with = in it */
bool intent_is_call(struct str line);       /* name(...), a.b(...) and nothing behind it but ; */
bool intent_asks_for_sum(const struct words *w);
bool intent_asks_to_run(const struct words *w);
bool intent_about_sandbox(const struct words *w, enum intent_kind *ret);
unsigned intent_seconds(const struct words *w); /* "10 minutes"; 0: none */
int intent_ids(const struct words *w, struct intent *to);

/* 1: *to is filled; 0: not asked for; -ENOMEM. */
int intent_install(const struct words *w, struct intent *to);
int intent_git(struct str prose, const struct words *w, struct intent *to);
