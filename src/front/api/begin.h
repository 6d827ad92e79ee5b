/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/begin: takes requests to the control API in. */
#pragma once

struct api;
struct http_req;

void req_begin(struct api *a, struct http_req *rq); /* finds the route, reads the body, calls the handler */
void req_end_slow(struct api *a);                   /* once a second: ends those whose body takes too long */
