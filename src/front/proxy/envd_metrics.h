/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/envd_metrics: GET /metrics of port 49983. */
#pragma once

#include <stdbool.h>

struct http_req;
struct sandbox;

bool envd_is_metrics(const struct http_req *rq);
void envd_metrics(struct sandbox *sb, struct http_req *rq); /* sb is running; the caller has checked the token */
