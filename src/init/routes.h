/* SPDX-License-Identifier: Apache-2.0 */
/* routes: dispatches requests to handlers. Whole paths are matched. */
#pragma once

struct http_req;
struct init;

void routes_serve(struct init *in, struct http_req *rq);
