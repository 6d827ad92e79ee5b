/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/envd_check: may this request reach envd? The tokens are checked here, outside the sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "front/util/options.h"

/* Paths that only the front itself may ask for, however they are spelled. */
bool envd_path_is_internal(struct str raw_path);

/* token: the sandbox's, "" when it has none. 0, or -EACCES with the text for a 401. */
int envd_check(struct str method, struct str path, struct str query, struct str header_token, const char *token,
    uint64_t now_s, const char **ret_message);

/* -EINVAL: it is none of the words of the setting */
int interp_token_parse(const char *word, enum interp_token *ret);

/* As envd_check(), for the interpreter. */
int interp_check(struct str method, struct str path, struct str header_token, const char *token, enum interp_token need,
    const char **ret_message);

/* What a signed file URL says, taken apart once: which sandbox it is for is found by trying the tokens of all. */
struct signed_file {
	char *signature, *path, *user, *expiry; /* decoded; NULL: absent */
	const char *op;
	struct signing *signing; /* NULL: no signature can be right, by its form or its length alone */
};

/* false: it is no such URL */
bool signed_file_parse(struct str method, struct str path, struct str query, struct signed_file *ret);
/* made with that token? Its expiry is not looked at */
bool signed_file_by(const struct signed_file *s, const char *token);
void signed_file_done(struct signed_file *s);
#define autosigned __attribute__((cleanup(signed_file_done)))
