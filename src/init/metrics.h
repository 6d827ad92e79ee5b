/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: GET /metrics: CPU, memory and disk usage from /proc and the root file system. */
#pragma once

#include "base/str.h"

struct http_req;
struct init;

void metrics_get(struct init *in, struct http_req *rq);

/* Finds a "MemTotal: 123 kB" line: the value in bytes, 0 if it is absent. Pure. */
uint64_t metrics_meminfo(struct str text, const char *key);
