/* SPDX-License-Identifier: Apache-2.0 */
/* client/execution: what running code gave, one line of the stream at a time. No I/O. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "client/atoll.h"

struct execution; /* behind struct atoll_execution */

#define EXECUTION_MAX (64u * 1024 * 1024)

/* on: copied; max: bytes that may be kept of all it gives; 0: it is not kept. NULL: no memory. */
struct execution *execution_new(const struct atoll_code_events *on, size_t max);
/* Of each of the two streams only so much is kept, and a line says so; callbacks get all of it. */
void execution_limit(struct execution *x, size_t stream_max);
void execution_free(struct execution *x);

/* Bytes of the stream, any cut. 0; -ECANCELED: a callback said so; -EPROTO: not what was expected; -EFBIG; -ENOMEM. */
int execution_feed(struct execution *x, const void *p, size_t n);
bool execution_ended(const struct execution *x); /* the end was told */
size_t execution_results(const struct execution *x);
struct atoll_execution *execution_public(struct execution *x); /* after the end; NULL: no memory */
