/* SPDX-License-Identifier: Apache-2.0 */
/* redact: what the files of the session manager need of it. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define SECRETS_MAX 64

struct atoll_sandbox;

struct secrets {			/* values that must not be shown */
	char *v[SECRETS_MAX];
	size_t n;
};

/* The values of variables of a sandbox whose names say that they are secret. None if it does not tell. */
void secrets_of(struct atoll_sandbox *sb, struct secrets *ret);
void secrets_done(struct secrets *s);
void secrets_redact(json_t *j, const struct secrets *s);	/* in every string of it but images */
