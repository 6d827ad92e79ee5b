/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/volume_content: requests for the files of a volume, passed on to a program that serves nothing but that
 * volume.
 *
 * Only the token is looked at here, of which the volume has one; no path of a volume is ever resolved by the front, the
 * warden, or anything else that could reach more than the volume. */
#pragma once

#include <stdbool.h>

struct front;
struct http_req;

bool volume_content_is(const struct http_req *rq);               /* /volumecontent/... */
void volume_content_begin(struct front *f, struct http_req *rq); /* takes over rq */
