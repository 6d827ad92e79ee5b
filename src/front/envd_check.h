/* SPDX-License-Identifier: Apache-2.0 */
/* front/envd_check: may this request reach envd? The tokens are checked here, outside the sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Paths that only the front itself may ask for, however they are spelled. */
bool envd_path_is_internal(struct str raw_path);

/* token: the sandbox's, "" when it has none. 0, or -EACCES with the text for a 401. */
int envd_check(struct str method, struct str path, struct str query, struct str header_token, const char *token,
	       uint64_t now_s, const char **ret_message);

/* Does the query of a file URL carry a signature made with that token? Its expiry is not looked at. */
bool envd_signed_with(struct str method, struct str query, const char *token);
bool envd_is_signed_file(struct str method, struct str path, struct str query);
