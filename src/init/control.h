/* SPDX-License-Identifier: Apache-2.0 */
/* control: /health, /envs, /init (the front's settings for this sandbox) and quiet (closes connections before a
 * freeze). */
#pragma once

struct http_req;
struct init;

void control_health(struct init *in, struct http_req *rq);
void control_envs(struct init *in, struct http_req *rq);
void control_init(struct init *in, struct http_req *rq);
void control_quiet(struct init *in, struct http_req *rq);
