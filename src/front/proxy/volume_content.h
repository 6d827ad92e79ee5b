/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/volume_content: passes requests for files of a volume on to a process that serves only that volume.
 *
 * Only the token of the volume is checked here. No path of a volume is ever resolved by the front, the warden, or
 * anything else that could reach more than the volume. */
#pragma once

#include <stdbool.h>

struct proxies;
struct http_req;

bool volume_content_is(const struct http_req *rq);                 /* /volumecontent/... */
void volume_content_begin(struct proxies *p, struct http_req *rq); /* takes ownership of rq */
