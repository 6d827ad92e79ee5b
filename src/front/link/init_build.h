/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_build: runs one command of atoll-build in a sandbox (init/build/build.h). */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct links;
struct init_build;

/* no: 0 with its output, or an errno value with the message */
typedef void init_build_fn(void *user, int no, const char *text);

/* Takes ownership of args. fn is called once, never from inside. */
struct init_build *init_build_new(struct links *l, const char *id, json_t *args, uint64_t wait_ms, init_build_fn *fn,
    void *user);
void init_build_free(struct init_build *b); /* cancels: fn is not called. NULL is fine */
