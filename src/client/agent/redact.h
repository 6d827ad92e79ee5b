/* SPDX-License-Identifier: Apache-2.0 */
/* redact: what the session manager and the agents' tools need besides atoll_redact(): streams, JSON, and the list of
 * known secrets. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/secretive.h"
#include "base/str.h"

#define SECRETS_MAX 64

struct atoll_pair;
struct atoll_sandbox;

struct secrets {                  /* values that must not be printed */
	char *v[SECRETS_MAX + 1]; /* NULL-terminated */
	size_t n;
};

/* Gets the values of a sandbox's variables whose names mark them as secret. Returns -EIO if the sandbox does not
 * respond. */
int secrets_of(struct atoll_sandbox *sb, struct secrets *ret);
void secrets_done(struct secrets *s);
/* Copies value unless it is already in the list, too short or too long. If the list is full, removes the oldest. */
void redact_secrets_add(struct secrets *s, const char *value);
void secrets_add_envs(struct secrets *s, const struct atoll_pair *envs, size_t n); /* if secret by name */

/* Finds the values in "NAME=value\0..." whose names mark them as secret. ret points into env, which is modified.
 * Returns their number. */
size_t redact_env(char *env, size_t n, const char **ret, size_t max);

/* Redacts all strings in j in place, except image data. secrets is NULL-terminated, or NULL. */
void redact_json(json_t *j, const char *const *secrets);
/* Takes ownership of s. Returns a redacted string, which may be s itself. */
json_t *redact_string(json_t *s, const char *const *secrets);

/* Redacts text that arrives in pieces. A secret may span two of them, so text that may be the beginning of one is
 * held back until more arrives or the stream ends. Returns 0, the non-zero result of fn, or -ENOMEM. */
struct redact_stream {
	struct buf held;
};

typedef int redact_fn(void *user, const char *text, size_t n);

int redact_stream_feed(struct redact_stream *st, struct str text, const struct secrets *s, redact_fn *fn, void *user);
int redact_stream_end(struct redact_stream *st, const struct secrets *s, redact_fn *fn, void *user);
void redact_stream_done(struct redact_stream *st);

/* Redacts strings that are pieces of one text. If a secret spans two of them, they are replaced by one string with
 * the whole redacted text. Returns 0 or -ENOMEM. */
int redact_pieces(json_t *list, const struct secrets *s);
