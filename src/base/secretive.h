/* SPDX-License-Identifier: Apache-2.0 */
/* base/secretive: which variables are secret, by what they are called. */
#pragma once

#include <stdbool.h>

#define SECRET_MIN 6           /* bytes of a value: shorter ones are found everywhere */
#define SECRET_MAX (32 * 1024) /* longer ones are no keys, and many would have to be held */
#define REDACTED "[redacted]"  /* what stands in its place */

bool secretive_name(const char *name); /* GITHUB_TOKEN, db_password, OPENAI_API_KEY */
