/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/error: answers to requests that do not reach a sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct http_req;

void proxy_not_found(struct http_req *rq, struct str id, uint16_t port); /* the exact 502 that SDKs expect */
void proxy_port_closed(struct http_req *rq, struct str id, uint16_t port);
void proxy_no_traffic_token(struct http_req *rq, struct str id, uint16_t port, bool wrong); /* wrong: else missing */
void proxy_refuse(struct http_req *rq, int status, struct str id, uint16_t port, const char *message);
void proxy_hidden(struct http_req *rq, uint16_t port);                       /* an internal path of envd */
void proxy_envd_error(struct http_req *rq, int status, const char *message); /* in the format of envd */
void proxy_plain(struct http_req *rq, int status, const char *text);

bool proxy_is_browser(const struct http_req *rq); /* whether it is a navigation in a browser, not a program */
