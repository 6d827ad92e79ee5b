/* SPDX-License-Identifier: Apache-2.0 */
/* front/auth: who calls the control API. Keys are held and compared as hashes only. */
#pragma once

#include "base/err.h"
#include "store/keys.h"

struct auth;
struct http_headers;
struct store;

/* Reads the local key (making the file if there is none) and all keys of the store. */
int auth_open(struct store *s, const char *key_file, struct auth **ret, struct err *e);
void auth_free(struct auth *a);

/* The team of the key in X-API-Key or "Authorization: Bearer". -EACCES with a text for the client. */
int auth_check(const struct auth *a, const struct http_headers *h, char ret_team[TEAM_ID_SIZE], struct err *e);

const char *auth_team_name(const struct auth *a, const char *team);	/* "" when unknown */
