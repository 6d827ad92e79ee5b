/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/req: references. */
#include "front/api/req.h"

#include <stdlib.h>

struct req *req_ref(struct req *r)
{
	r->refs++;
	return r;
}

void req_unref(struct req *r)
{
	if (!r || --r->refs > 0)
		return;
	buf_done(&r->body);
	free(r->param);
	free(r->param2);
	free(r->work);
	free(r);
}
