/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/team: the team that a request is about, and what it may have. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct api;
struct quota;
struct req;
struct team;

/* The team in the path. If there is none, sends 404 and returns NULL. */
struct team *req_team(struct req *r);
/* Whether the caller's key is no admin key and has a quota of its own. */
bool req_has_quota(struct req *r);
/* Parses the field `quota` into *q. */
int read_quota(const struct api *a, const json_t *body, bool of_key, struct quota *q, struct err *e);
size_t team_sandboxes(const struct api *a, const char *team); /* in any state */
/* Whether the team may have one more sandbox; -EDQUOT. */
int api_check_room(const struct api *a, const char *team, struct err *e);
