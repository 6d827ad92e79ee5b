/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/sandboxes: a sandbox in answers. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct buf;
struct req;
struct sandbox;

json_t *sandbox_json(const struct req *r, const struct sandbox *sb); /* as in the answers of create and connect */
json_t *domain_json(const struct req *r); /* the domain of sandboxes, as this client reaches them */
void sandbox_put_listed(struct buf *out, const struct sandbox *sb, bool with_team); /* as in the lists */
