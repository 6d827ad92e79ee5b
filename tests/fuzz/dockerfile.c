/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a Dockerfile is read or refused with a line, and what is read makes a plan or is refused. */
#include <string.h>

#include "cli/template/build_plan.h"
#include "cli/template/dockerfile.h"
#include "cli/template/ignore.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct dockerfile d;
	struct plan p;
	struct ignore g;
	struct err e = ERR_INIT;

	if (dockerfile_parse(text, &d, &e) == 0) {
		for (size_t i = 0; i < d.n; i++)
			MUST(d.v[i].line > 0 && d.v[i].keyword && d.v[i].text);
		if (plan_make(&d, NULL, NULL, &p, &e) == 0) {
			MUST(p.n > 0 && p.want < p.n && p.v[p.want].needed);
			for (size_t i = 0; i < p.n; i++) {
				for (size_t k = 0; k < p.v[i].n_copies; k++)
					MUST(p.v[i].copies[k].step < json_array_size(p.v[i].steps) &&
					    p.v[i].copies[k].stage < (int)p.n);
			}
			plan_done(&p);
		} else {
			MUST(e.no && e.text[0]);
		}
		dockerfile_done(&d);
	} else {
		MUST(e.no && e.text[0]);
	}
	if (ignore_parse(text, &g) == 0) {
		(void)ignore_has(&g, "some/path/of/a.file");
		ignore_done(&g);
	}
	return 0;
}
