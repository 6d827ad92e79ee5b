/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/request: what handlers read from a request, and wait for. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "front/api/req.h"

struct api;
struct sandbox;

/* The body as an object, a new reference. If it is no object, sends 400 and returns NULL. */
json_t *req_json(struct req *r, bool allow_empty);

/* The sandbox id in the path, without the suffix of old clients. If it is malformed, sends 400 and returns
 * -EINVAL. */
int req_sandbox_id(struct req *r, struct str *ret);

/* Whether the sandbox in the path exists and belongs to the caller. To be called after req_sandbox_id(). */
bool req_owns_sandbox(const struct req *r);

/* The caller's own sandbox in the path, borrowed. Otherwise sends 400 or 404 and returns NULL. */
struct sandbox *req_sandbox(struct req *r);

/* Whether the caller may see tokens: not someone who may only look. */
bool req_sees_tokens(const struct req *r);

/* Calls `then` when the state of sb has settled. */
void req_wait(struct req *r, struct sandbox *sb, void (*then)(struct req *r, struct sandbox *sb));
/* Calls the handler then, as if the request had just arrived. */
void req_again(struct req *r, struct sandbox *sb, void (*handler)(struct req *r));

/* Once a second: answers requests that wait for a silent warden. They may still take effect. */
void req_waiting_tick(struct api *a);
