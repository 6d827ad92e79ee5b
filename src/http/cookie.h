/* SPDX-License-Identifier: Apache-2.0 */
/* http/cookie: Cookie header fields. A request may have several of them. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Takes the next cookie off the value of a Cookie field; false at the end. A part without '=' is a value without a
 * name, as browsers send it. */
bool cookie_next(struct str *field, struct str *ret_name, struct str *ret_value);
