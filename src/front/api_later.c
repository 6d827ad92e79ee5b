/* SPDX-License-Identifier: Apache-2.0 */
/* front/api_later: calls of the official clients whose work is not done here yet: volumes.
 *
 * Questions are answered as they stand: there are none, or no such one. What would make one is refused with 501, which
 * the SDKs show as it is; a 404 would tell them that something else is missing. */
#include "base/fd.h"
#include "front/api.h"
#include "front/front.h"
#include "front/reply.h"
#include "front/request.h"
#include "front/sandbox.h"

static void not_yet(struct req *r, const char *what)
{
	reply_error(r, 501, "%s not supported by this server yet", what);
}

void later_volume(struct req *r)
{
	not_yet(r, "volumes are");
}

void later_none(struct req *r)
{
	reply_json(r, 200, json_array(), NULL);
}

void later_no_such(struct req *r)
{
	reply_error(r, 404, "'%.100s' not found", r->param);
}
