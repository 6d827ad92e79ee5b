/* SPDX-License-Identifier: Apache-2.0 */
/* front/shelf: the journals of sandboxes that have ended, kept for a while. */
#pragma once

#include "base/str.h"
#include "front/journal.h"
#include "ipc/msg.h"
#include "store/teams.h"

#define SHELF_MAX 256
#define SHELF_MS (10 * 60 * 1000)

struct shelf;

struct shelf *shelf_new(void);
void shelf_free(struct shelf *s);

/* Takes over what *j has. */
void shelf_put(struct shelf *s, const char *id, const char *team, struct journal *j, uint64_t now_ms);
const struct journal *shelf_find(const struct shelf *s, struct str id, const char *team);	/* NULL: none of that team */
void shelf_tidy(struct shelf *s, uint64_t now_ms);
