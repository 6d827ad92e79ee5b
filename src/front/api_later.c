/* SPDX-License-Identifier: Apache-2.0 */
/* front/api_later: calls of the official clients whose work is not done here yet: templates of one's own.
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

void later_build(struct req *r)
{
	not_yet(r, "building templates is");
}

void later_tags(struct req *r)
{
	not_yet(r, "changing templates is");
}

/* The template of the path; answers by itself and returns NULL if there is none. */
static const struct template *find(struct req *r)
{
	const struct template *tp;
	struct err e;

	if (templates_find(&r->front->templates, str_of(r->param), &tp, &e) == 0)
		return tp;
	reply_err(r, &e);
	return NULL;
}

void api_template_tags(struct req *r)
{
	const struct template *tp = find(r);

	if (tp)
		reply_json(r, 200, json_pack("[{s:s,s:s,s:o}]", "tag", "default", "buildID", tp->key, "createdAt", time_json(tp->built_ms)), NULL);
}

void api_template_drop(struct req *r)
{
	if (!api_snapshot_drop(r) && find(r))
		reply_error(r, 400, "template '%.100s' belongs to the server and cannot be deleted", r->param);
}

void api_template_set(struct req *r)
{
	if (find(r))
		later_tags(r);
}
