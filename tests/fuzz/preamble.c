/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: 32 bytes are the token, the next 40 a preamble. One that is accepted is one that is written so. */
#include <errno.h>
#include <string.h>

#include "base/preamble.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t token[PREAMBLE_TOKEN] = { 0 }, in[PREAMBLE_SIZE] = { 0 }, again[PREAMBLE_SIZE];
	const size_t all = sizeof token + sizeof in;
	struct preamble p = { .kind = 77, .port = 77 };

	memcpy(token, data, size < sizeof token ? size : sizeof token);
	if (size > sizeof token)
		memcpy(in, data + sizeof token, (size < all ? size : all) - sizeof token);
	int r = preamble_check(in, token, &p);

	MUST(r == 0 || r == -EACCES || r == -EINVAL);
	MUST((r == -EACCES) == (memcmp(in, token, sizeof token) != 0));
	if (r < 0) {
		MUST(p.kind == 77 && p.port == 77);
		return 0;
	}
	preamble_write(&p, token, again);
	MUST(memcmp(in, again, sizeof in) == 0);
	return 0;
}
