/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_build: has atoll-build do one thing in a sandbox (init/build/build.h). */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct links;
struct init_build;

/* no: 0 and what it printed, or an errno value and why */
typedef void init_build_fn(void *user, int no, const char *text);

/* Takes args. fn is called once, never from inside. */
struct init_build *init_build_new(struct links *l, const char *id, json_t *args, uint64_t wait_ms, init_build_fn *fn,
    void *user);
void init_build_free(struct init_build *b); /* not wanted any more; NULL is fine */
