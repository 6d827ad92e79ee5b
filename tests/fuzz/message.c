/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any text is a message; what it asks for has the fields that its kind needs, and sums end. */
#include <string.h>

#include "agent/arith.h"
#include "agent/intent.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size }, expr;
	struct intents *l = calloc(1, sizeof *l);
	char value[ARITH_RESULT_SIZE];

	MUST(l);
	if (intents_parse(in, l) == 0) {
		for (size_t i = 0; i < l->n; i++) {
			MUST(l->v[i].kind != INTENT_SUM || l->v[i].value || l->v[i].why);
			MUST(l->v[i].kind != INTENT_INSTALL || l->v[i].manager);
			MUST(l->v[i].kind != INTENT_GIT || l->v[i].verb);
			for (size_t k = 0; k < l->v[i].n_names; k++)
				MUST(l->v[i].names[k] && strlen(l->v[i].names[k]) > 0);
		}
		intents_done(l);
	}
	free(l);
	if (arith_find(in, &expr, value) == 0)
		MUST(expr.p >= in.p && expr.p + expr.n <= in.p + in.n && value[0]);
	return 0;
}
