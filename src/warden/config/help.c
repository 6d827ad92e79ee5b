/* SPDX-License-Identifier: Apache-2.0 */
/* config/help: `atolld --help`. */
#include <stdio.h>

#include "warden/config/key.h"

#define OPTION_SIZE 64

/* "--max-pids" for max_pids */
static void option_of(const char *name, char text[OPTION_SIZE])
{
	size_t n = (size_t)snprintf(text, OPTION_SIZE, "--%s", name);

	for (size_t i = 0; i < n && text[i]; i++) {
		if (text[i] == '_')
			text[i] = '-';
	}
}

static const char *value_of(enum config_form form)
{
	static const char *const names[] = {
		[FORM_TEXT] = "TEXT",
		[FORM_PATH] = "PATH",
		[FORM_NUMBER] = "NUMBER",
		[FORM_FLAG] = "true|false",
		[FORM_WORD] = "WORD",
		[FORM_CPUS] = "CORES",
		[FORM_KEY] = "KEY",
		[FORM_HOSTS] = "ADDRESSES",
		[FORM_PRICES] = "PRICES",
		[FORM_TEMPLATE] = "NAME=KEY",
		[FORM_RANGES] = "RANGES",
		[FORM_LIMITS] = "LIMITS",
	};

	return names[form];
}

static void print_bounds(const struct config_key *k)
{
	char words[64];

	switch (k->form) {
	case FORM_NUMBER:
		(void)printf("; %llu to %llu", (unsigned long long)k->min, (unsigned long long)k->max);
		break;
	case FORM_CPUS:
		(void)printf("; %g to %g", (double)k->min / 1000, (double)k->max / 1000);
		break;
	case FORM_WORD:
		config_value_words(k->words, words, sizeof words);
		(void)printf("; %s", words);
		break;
	default:
		break;
	}
}

/* The word with that number. */
static struct str word_at(const char *words, unsigned i)
{
	struct str list = str_of(words), word = config_next_word(&list);

	for (; i > 0; i--)
		word = config_next_word(&list);
	return word;
}

static void print_default(const struct config *c, const struct config_key *k)
{
	const void *field = (const char *)c + k->at;
	const uint64_t *number = field;
	struct str word;

	switch (k->form) {
	case FORM_NUMBER:
		if (*number >= k->min) /* else chosen at the start, as the help says */
			(void)printf("; default %llu", (unsigned long long)*number);
		break;
	case FORM_CPUS:
		(void)printf("; default %g", (double)*number / 1000);
		break;
	case FORM_FLAG:
		(void)printf("; default %s", *(const bool *)field ? "true" : "false");
		break;
	case FORM_WORD:
		word = word_at(k->words, *(const unsigned *)field);
		(void)printf("; default %.*s", STR_ARG(word));
		break;
	case FORM_TEXT:
	case FORM_PATH:
		if (*(const char *)field)
			(void)printf("; default %s", (const char *)field);
		break;
	default:
		break;
	}
}

void config_print_help(void)
{
	static struct config c;
	char option[OPTION_SIZE];

	config_defaults(&c);
#define LIMIT(id, name, form, min, max, default_, ...) c.defaults[id] = default_; /* else chosen by config_settle() */
#include "ipc/settings.tbl"
	(void)printf("usage: atolld [--SETTING VALUE]...\n"
		     "\n"
		     "atolld is started by 'atoll serve', which takes the same settings. Those of the second list can\n"
		     "also be given in the configuration file, with underscores: see atoll.conf(5).\n");
	for (enum config_when when = WHEN_CLI; when <= WHEN_START; when++) {
		(void)printf("\n");
		for (size_t i = 0; i < config_n_keys; i++) {
			const struct config_key *k = &config_keys[i];

			if ((k->when == WHEN_CLI) != (when == WHEN_CLI))
				continue;
			option_of(k->name, option);
			(void)printf("  %s %s\n        %s", option, value_of(k->form), k->help);
			print_bounds(k);
			print_default(&c, k);
			(void)printf("\n");
		}
	}
	(void)printf("\n  --version\n        check the settings, print the version and exit\n");
}
