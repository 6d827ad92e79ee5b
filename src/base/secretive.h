/* SPDX-License-Identifier: Apache-2.0 */
/* base/secretive: recognises secret variables by their names. */
#pragma once

#include <stdbool.h>

#define SECRET_MIN 6           /* bytes of a value: shorter ones occur by chance */
#define SECRET_MAX (32 * 1024) /* longer values are not keys, and would take too much memory */
#define REDACTED "[redacted]"  /* replaces the value */

bool secretive_name(const char *name); /* GITHUB_TOKEN, db_password, OPENAI_API_KEY */
