/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/envd_check: whether a request may reach envd. Tokens are checked here, outside of the sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "front/util/options.h"

/* Paths reserved for the front itself, in any spelling. */
bool envd_path_is_internal(struct str raw_path);

/* token: the token of the sandbox, "" if it has none. Returns 0, or -EACCES with the message for a 401. */
int envd_check(struct str method, struct str path, struct str query, struct str header_token, const char *token,
    uint64_t now_s, const char **ret_message);

/* Like envd_check(), for the interpreter. */
int interp_check(struct str method, struct str path, struct str header_token, const char *token, enum interp_token need,
    const char **ret_message);

/* A parsed signed file URL. It does not name its sandbox, so the tokens of all sandboxes are tried. */
struct signed_file {
	char *signature, *path, *user, *expiry; /* decoded; NULL: absent */
	const char *op;
	struct signing *signing; /* NULL: no signature can match, because of its form or length */
};

/* Returns false if it is no signed file URL. */
bool signed_file_parse(struct str method, struct str path, struct str query, struct signed_file *ret);
/* Whether it was signed with that token. Does not check the expiry. */
bool signed_file_by(const struct signed_file *s, const char *token);
void signed_file_done(struct signed_file *s);
#define autosigned __attribute__((cleanup(signed_file_done)))
