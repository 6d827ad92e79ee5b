/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes are a policy or are refused; a policy has the properties that warden, firewall and proxy rely on,
 * and has one form. */
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "ipc/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf again = BUF_INIT(POLICY_MAX);
	struct policy *p = NULL;

	if (policy_decode(data, size, &p) < 0)
		return 0;
	MUST(p->n_nets <= POLICY_NETS_MAX && p->n_names <= POLICY_NAMES_MAX && !(p->flags & ~POLICY_FLAGS_ALL));
	for (uint32_t i = 0; i < p->n_nets; i++)
		MUST(p->nets[i].len <= 32 && p->nets[i].port_lo <= p->nets[i].port_hi);
	for (uint32_t i = 0; i < p->n_names; i++) {
		const char *z = p->names[i].text;

		MUST(strlen(z) >= 1 && strlen(z) <= POLICY_NAME_MAX);
		MUST(strspn(z, "abcdefghijklmnopqrstuvwxyz0123456789-_.*") == strlen(z));
		(void)policy_name_find(p, POLICY_ALLOW, str_of(z), 443);
	}
	policy_encode(p, &again);
	MUST(!again.bad && again.n == size && memcmp(again.p, data, size) == 0);
	buf_done(&again);
	policy_free(p);
	return 0;
}
