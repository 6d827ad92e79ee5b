/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_put: writes a file in a sandbox, from an upload of a client or from memory. */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct links;
struct init_put;

typedef void init_put_fn(void *user, int no, const char *text); /* no: 0, or an errno value with the message */

/* The file is owned by root. upload 0: writes `text` instead, which is copied. fn is called once, never from
 * inside. */
struct init_put *init_put_new(struct links *l, const char *id, const char *path, uint64_t upload, uint64_t bytes,
    struct str text, init_put_fn *fn, void *user);
void init_put_free(struct init_put *p); /* NULL is fine */
