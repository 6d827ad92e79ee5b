/* SPDX-License-Identifier: Apache-2.0 */
/* redact: what around atoll_redact() the session manager and the tools of agents need: where secrets are looked for,
 * and which are known. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/secretive.h"
#include "base/str.h"

#define SECRETS_MAX 64

struct atoll_pair;
struct atoll_sandbox;

struct secrets {                  /* values that must not be shown */
	char *v[SECRETS_MAX + 1]; /* with NULL behind them */
	size_t n;
};

/* The values of variables of a sandbox whose names say that they are secret. -EIO: it does not tell. */
int secrets_of(struct atoll_sandbox *sb, struct secrets *ret);
void secrets_done(struct secrets *s);
/* a copy, once; too short and too long ones are not taken, and the oldest goes when there are too many */
void redact_secrets_add(struct secrets *s, const char *value);
void secrets_add_envs(struct secrets *s, const struct atoll_pair *envs, size_t n); /* those whose names say so */

/* Of "NAME=value\0..." the values whose names say that they are secret; ret points into env, which is changed. Their
 * number. */
size_t redact_env(char *env, size_t n, const char **ret, size_t max);

/* All strings in j, in place; not the data of pictures. secrets: NULL-terminated, or NULL. */
void redact_json(json_t *j, const char *const *secrets);
/* takes s; a string with them taken out, maybe the same */
json_t *redact_string(json_t *s, const char *const *secrets);

/* Text that comes in pieces: a secret may be in two of them, so what could be the beginning of one is held back until
 * more comes or the end. What fn returns is returned if it is not 0; else 0, or -ENOMEM. */
struct redact_stream {
	struct buf held;
};

typedef int redact_fn(void *user, const char *text, size_t n);

int redact_stream_feed(struct redact_stream *st, struct str text, const struct secrets *s, redact_fn *fn, void *user);
int redact_stream_end(struct redact_stream *st, const struct secrets *s, redact_fn *fn, void *user);
void redact_stream_done(struct redact_stream *st);

/* Strings that are the pieces of one text: if a secret is in two of them, the whole text without it comes in their
 * place. -ENOMEM. */
int redact_pieces(json_t *list, const struct secrets *s);
