/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/codes: one-time codes that log in to the console without showing an API key. They are in memory only:
 * a restart of the front ends them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "front/console/sessions.h"
#include "front/util/token.h"

#define CODES_OF_KEY 16
#define CODES_MAX 256

struct login_codes;

struct login_code { /* what it stands for */
	char team[TEAM_ID_SIZE], key[KEY_ID_SIZE];
	enum role role;
};

struct login_codes *login_codes_new(void);
void login_codes_free(struct login_codes *c); /* NULL is fine */

/* A further code of a key replaces the oldest one of CODES_OF_KEY, and of all CODES_MAX. */
void login_code_make(struct login_codes *c, const struct login_code *of, uint64_t until_mono_ms, char code[TOKEN_SIZE]);

/* Takes it: it cannot be used again. */
bool login_code_take(struct login_codes *c, struct str code, uint64_t now_mono_ms, struct login_code *ret);
