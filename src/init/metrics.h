/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: GET /metrics: what /proc and the root file system show of processor, memory and disk. */
#pragma once

#include "base/str.h"

struct http_req;
struct init;

void metrics_get(struct init *in, struct http_req *rq);

/* "MemTotal:  123 kB" lines: the value in bytes, 0 if it is not there. Pure. */
uint64_t metrics_meminfo(struct str text, const char *key);
