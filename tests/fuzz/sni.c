/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: first bytes of a connection have one name or none; a name is one that a rule can be about. */
#include <errno.h>
#include <string.h>

#include "egress/sni.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	char name[POLICY_NAME_SIZE], again[POLICY_NAME_SIZE];
	int r = sni_parse(in, name);

	MUST(r == SNI_MORE || r == SNI_NONE || r == SNI_NAME || r == -EBADMSG);
	if (r == SNI_NAME)
		MUST(policy_name_ok(str_of(name)) && name[0] != '*' && host_parse(str_of(name), again) == 0 &&
		    strcmp(name, again) == 0);
	if (host_parse(in, name) == 0)
		MUST(policy_name_ok(str_of(name)) && strlen(name) <= POLICY_NAME_MAX);
	return 0;
}
