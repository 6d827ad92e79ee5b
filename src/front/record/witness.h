/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/witness: records what a request into a sandbox does in the audit trail. A witness is an observer of
 * the pump that passes the request on.
 *
 * Code and commands get one record before the last byte of the request is passed on, so that nothing runs
 * unrecorded, and one at their end, before the last byte of the answer is passed on. Other requests (files,
 * contexts, signals) get one record when the answer arrives. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "front/record/facts.h"
#include "http/pump.h"

struct http_req;
struct records;
struct veiled;
struct witness;

/* Returns NULL if nothing about the request is recorded; the other functions accept NULL. What *sb points to must
 * live as long as the witness. secrets: the values that are redacted, see front/record/veil.h; more are learned. */
struct witness *witness_new(struct records *rs, const struct sandbox_facts *sb, struct veiled *secrets,
    const struct http_req *rq, uint16_t port, const char *request);
void witness_free(struct witness *w);

extern const struct pump_observer_ops witness_ops;              /* user: struct witness */
void witness_put_log(const struct witness *w, struct buf *out); /* appends " name=value" pairs for the log line */
