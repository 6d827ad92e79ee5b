/* SPDX-License-Identifier: Apache-2.0 */
/* client/execution: collects the results of running code from the lines of its stream. No I/O. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "client/atoll.h"

struct execution; /* implements struct atoll_execution */

#define EXECUTION_MAX (64u * 1024 * 1024)

/* on is copied. max is the limit of the bytes kept; 0 keeps nothing. Returns NULL if memory runs out. */
struct execution *execution_new(const struct atoll_code_events *on, size_t max);
/* Limits what is kept of each of the two streams. A line marks the truncation. Callbacks get everything. */
void execution_limit(struct execution *x, size_t stream_max);
void execution_free(struct execution *x);

/* Feeds bytes of the stream, split anywhere. Returns 0, -ECANCELED if a callback asked to stop, -EPROTO for malformed
 * input, -EFBIG or -ENOMEM. */
int execution_feed(struct execution *x, const void *p, size_t n);
bool execution_ended(const struct execution *x); /* the end of the execution was received */
size_t execution_results(const struct execution *x);
struct atoll_execution *execution_public(struct execution *x); /* after the end; NULL if memory runs out */
