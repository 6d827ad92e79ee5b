/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/witness: what a request into a sandbox does, for the audit trail, while it passes.
 * A witness is an observer of the pump that passes the request on.
 *
 * Code and commands have a record before the last byte of their request goes in, so nothing runs unrecorded, and one
 * when they are over, before the last byte of the answer goes out. The rest (files, contexts, signals) has one, when
 * its answer is there. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "http/pump.h"

struct http_req;
struct sandbox;
struct witness;

/* NULL: nothing about it is recorded; the other functions are fine with that. */
struct witness *witness_new(struct sandbox *sb, const struct http_req *rq, uint16_t port, const char *request);
void witness_free(struct witness *w);

extern const struct pump_observer_ops witness_ops;              /* for a witness */
void witness_put_log(const struct witness *w, struct buf *out); /* " name=value" pairs for the line of the log */
