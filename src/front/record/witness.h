/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/witness: what a request into a sandbox does, for the audit trail, while it passes.
 *
 * Code and commands have a record before the last byte of their request goes in, so nothing runs unrecorded, and one
 * when they are over, before the last byte of the answer goes out. The rest (files, contexts, signals) has one, when
 * its answer is there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct http_req;
struct sandbox;
struct witness;

/* NULL: nothing about it is recorded; all of these are fine with that. */
struct witness *witness_new(struct sandbox *sb, const struct http_req *rq, uint16_t port, const char *request);
void witness_free(struct witness *w);

bool witness_reads_body(const struct witness *w); /* all bytes must be shown, */
bool witness_reads_answer(const struct witness *w);
void witness_body(struct witness *w, struct str data); /* before it goes in */
void witness_body_moved(struct witness *w, size_t n);  /* ... for those that are only counted */
void witness_body_end(struct witness *w);
void witness_answer(struct witness *w, int status, int64_t content_length); /* before it goes out; -1: not known */
void witness_data(struct witness *w, struct str data);
enum witness_end { WITNESS_DONE, WITNESS_LEFT, WITNESS_BROKE }; /* the client has left; the sandbox has ended */
void witness_end(struct witness *w, enum witness_end how);      /* the first time counts */
void witness_put_log(const struct witness *w, struct buf *out); /* " name=value" pairs for the line of the log */
