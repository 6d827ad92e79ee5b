/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the manifest of a packed template. */
#include <string.h>

#include "cli/packed/manifest.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct packed p;
	struct err e = ERR_INIT;
	struct str text = { (const char *)data, n };

	if (packed_parse(text, &p, &e) < 0) {
		MUST(e.no != 0 && e.text[0]);
		return 0;
	}
	/* Names become names of files. What is taken is written again as it was. */
	MUST(strspn(p.name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(p.name));
	MUST(strlen(p.key) == 32 && strspn(p.key, "0123456789abcdef") == 32);
	uint64_t plain = 0;

	for (size_t i = 0; i < p.n_blocks; i++) {
		MUST(strspn(p.blocks[i].hash, "0123456789abcdef") == PACKED_HASH_LEN);
		MUST(p.blocks[i].plain <= PACKED_BLOCK_MAX && p.blocks[i].stored <= PACKED_STORED_MAX);
		plain += p.blocks[i].plain;
	}
	MUST(plain == p.plain && p.n_blocks > 0);
	struct buf again = { .max = n + 1 };

	packed_write(&p, &again);
	MUST(!again.bad && str_eq(buf_view(&again), text));
	buf_done(&again);
	packed_done(&p);
	return 0;
}
