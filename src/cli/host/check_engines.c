/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check_engines: the isolation engines besides the built-in one. */
#include <stdio.h>

#include "cli/host/check.h"
#include "cli/host/engine_store.h"

/* None of them is required: a sandbox that asks for one that is missing is refused. */
void check_engines(const struct check_host *h, struct check_result *r)
{
	char text[sizeof r->text];
	size_t n = (size_t)snprintf(text, sizeof text, "namespaces");

	for (const struct engine_pin *p = NULL; (p = engine_pin_next(p)) && n < sizeof text;) {
		struct engine_found f;

		engine_look(h->cache, p, &f);
		if (f.problem[0]) {
			check_found(r, CHECK_WARN, "%s cannot be used: %s", f.path, f.problem);
			check_remedy(r, "sudo atoll engine install %s", p->engine);
			return;
		}
		n += (size_t)snprintf(text + n, sizeof text - n, "; %s %s", p->engine,
		    f.is_there ? f.version : "is not installed");
	}
	check_found(r, CHECK_OK, "%s", text);
}
