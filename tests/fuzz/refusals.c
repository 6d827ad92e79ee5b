/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a record of the kernel's audit system is read or refused; a name has only what may be shown. */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "refusals/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	struct record rec;
	int r = record_parse(in, &rec);

	MUST(r == 0 || r == -EBADMSG);
	if (r == 0) {
		size_t n = strnlen(rec.comm, sizeof rec.comm);

		MUST(n < sizeof rec.comm);
		for (size_t i = 0; i < n; i++)
			MUST(rec.comm[i] >= ' ' && rec.comm[i] < 0x7f);
	}
	(void)record_pid_inside(in, 0, UINT32_MAX);
	return 0;
}
