/* SPDX-License-Identifier: Apache-2.0 */
/* config/key: a row of ipc/settings.tbl as data, and the values of its form. */
#pragma once

#include "warden/config.h"

enum config_form {
	FORM_TEXT,
	FORM_PATH,
	FORM_NUMBER,
	FORM_FLAG,
	FORM_WORD,
	FORM_CPUS, /* thousandths of a processor, written like 0.5 */
	FORM_KEY,
	FORM_HOSTS,
	FORM_PRICES,
	FORM_RANGES,
	FORM_TEMPLATE, /* this and the following: lists, which set more than one field */
	FORM_LIMITS,
};

enum config_when {
	WHEN_CLI, /* meaningless in the file, or needed to find the file */
	WHEN_START,
	WHEN_RELOAD,
};

struct config_key {
	const char *name;
	enum config_form form;
	enum config_when when;
	size_t at, size; /* the field in struct config */
	uint64_t min, max;
	const char *words; /* of FORM_WORD, separated by blanks */
	const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_n_keys;

/* config/value.c */
int config_value_set(struct config *c, const struct config_key *k, struct str value);
int config_value_number(const struct config_key *k, struct str value, uint64_t *ret); /* -EINVAL, -ERANGE */
/* Reports a value that config_value_set() refused with r, and what would be accepted. */
int config_value_refuse(const struct config_key *k, struct str value, int r, struct err *e);
/* Writes "kill or keep", "debug, info, warn or error". */
void config_value_words(const char *words, char *text, size_t size);
