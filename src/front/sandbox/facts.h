/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/facts: a sandbox as the records see it (front/record/facts.h), and its entries there. */
#pragma once

#include "front/record/events.h"
#include "front/record/facts.h"

struct sandbox;

struct sandbox_facts sandbox_facts(const struct sandbox *sb); /* valid until the sandbox changes */
/* Records an event that happens now. data: an object, ownership is taken; NULL: none. */
void sandbox_event(struct sandbox *sb, enum event_type t, json_t *data);
void sandbox_record_life(struct sandbox *sb, const char *kind);  /* in the audit trail: sandbox.started, ... */
void sandbox_record_end(struct sandbox *sb, const char *reason); /* in the audit trail, and ends its notebook */
