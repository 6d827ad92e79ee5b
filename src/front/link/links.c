/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/links: counts the requests in progress. */
#include "front/link/links.h"

void links_request_begun(struct links *l)
{
	if (++l->requests > l->most_requests)
		l->most_requests = l->requests;
}

void links_request_over(struct links *l)
{
	if (--l->requests == 0 && l->on_quiet)
		l->on_quiet(l->quiet_user);
}
