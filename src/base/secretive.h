/* SPDX-License-Identifier: Apache-2.0 */
/* base/secretive: which variables are secret, by what they are called. */
#pragma once

#include <stdbool.h>

#define SECRET_MIN 6			/* bytes of a value: shorter ones are found everywhere */
#define REDACTED "[redacted]"		/* what stands in its place */

bool secretive_name(const char *name);	/* GITHUB_TOKEN, db_password, OPENAI_API_KEY */
