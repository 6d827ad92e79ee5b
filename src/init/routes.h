/* SPDX-License-Identifier: Apache-2.0 */
/* routes: which handler a request goes to. Paths are matched whole. */
#pragma once

struct http_req;
struct init;

void routes_serve(struct init *in, struct http_req *rq);
