/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what a sandbox answers is scanned to the same result however it is cut into pieces. */
#include <string.h>

#include "front/record/scan.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cell_scan a, b;
	static struct process_scan c, d, p, q;
	struct str all = { (const char *)data, size };

	a = b = (struct cell_scan) { 0 };
	c = d = (struct process_scan) { 0 };
	p = q = (struct process_scan) { .is_proto = true };
	cell_scan(&a, all);
	process_scan(&c, all);
	process_scan(&p, all);
	for (size_t i = 0; i < size;) {
		size_t n = (size_t)data[i] % 7 + 1;

		if (n > size - i)
			n = size - i;
		cell_scan(&b, (struct str) { all.p + i, n });
		process_scan(&d, (struct str) { all.p + i, n });
		process_scan(&q, (struct str) { all.p + i, n });
		i += n;
	}
	MUST(a.results == b.results && a.outputs == b.outputs && a.ended == b.ended && a.bytes == size &&
	    strcmp(a.error, b.error) == 0);
	MUST(strnlen(a.error, sizeof a.error) < sizeof a.error);
	MUST(c.started == d.started && c.ended == d.ended && c.exit_code == d.exit_code && c.bytes == d.bytes);
	MUST(p.started == q.started && p.ended == q.ended && p.exit_code == q.exit_code && p.bytes == c.bytes);
	return 0;
}
