/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the head of a snapshot file. The first eight bytes are the size of the file that it stands in. */
#include <string.h>

#include "cli/sandbox/snapshot_file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct snapshot_head h;
	struct err e = ERR_INIT;
	uint64_t size;

	if (n < sizeof size)
		return 0;
	memcpy(&size, data, sizeof size);
	if (snapshot_head_check(data + sizeof size, n - sizeof size, size, &h, &e) < 0) {
		MUST(e.no != 0 && e.text[0]);
		return 0;
	}
	/* What is taken fits into the file, whatever the numbers are. */
	MUST(h.meta_bytes > 0 && h.meta_bytes <= SNAPSHOT_META_MAX && h.disk_bytes > 0 && h.disk_bytes < size &&
	    h.memory_bytes < size);
	MUST(sizeof h + h.meta_bytes + h.disk_bytes + h.memory_bytes + SNAPSHOT_MAC_BYTES == size);
	return 0;
}
