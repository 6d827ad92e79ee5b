/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes are rules or are refused; rules have the properties that the proxy relies on when it writes
 * requests, and one form. */
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "ipc/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf again = BUF_INIT(RULES_MAX);
	struct rules *r = NULL;

	if (rules_decode(data, size, &r) < 0)
		return 0;
	MUST(r->n <= RULES_DOMAINS_MAX);
	for (size_t i = 0; i < r->n; i++) {
		MUST(policy_name_ok(str_of(r->v[i].domain)) && r->v[i].n_fields <= RULES_FIELDS_MAX);
		for (size_t k = 0; k < r->v[i].n_fields; k++) {
			MUST(rules_field_name_ok(str_of(r->v[i].fields[k].name)));
			MUST(!strpbrk(r->v[i].fields[k].value, "\r\n"));
		}
	}
	rules_encode(r, &again);
	MUST(!again.bad && again.n == size && memcmp(again.p, data, size) == 0);
	buf_done(&again);
	rules_free(r);
	return 0;
}
