/* SPDX-License-Identifier: Apache-2.0 */
/* swaps: "Filename Type Size Used Priority", sizes in KiB, after a heading. */
#include "base/swaps.h"

#include <fcntl.h>
#include <stdbool.h>

#include "base/fd.h"
#include "base/str.h"

#define ZRAM_NODE "/dev/zram"

/* The words of a line are separated by any number of blanks. */
static struct str next_word(struct str *line)
{
	while (line->n && (line->p[0] == ' ' || line->p[0] == '\t'))
		str_skip(line, 1);
	struct str word = { line->p, 0 };

	while (word.n < line->n && line->p[word.n] != ' ' && line->p[word.n] != '\t')
		word.n++;
	str_skip(line, word.n);
	return word;
}

enum swaps_kind swaps_read(const char *text, uint64_t *ret_bytes, uint64_t *ret_free)
{
	struct str rest = str_of(text);
	bool some = false, disk = false;

	*ret_bytes = *ret_free = 0;
	while (rest.p) {
		struct str line = str_cut(&rest, '\n'), name = next_word(&line);
		uint64_t size, used;

		(void)next_word(&line); /* the type */
		if (str_to_u64(next_word(&line), UINT64_MAX >> 10, &size) < 0 ||
		    str_to_u64(next_word(&line), UINT64_MAX >> 10, &used) < 0)
			continue; /* the heading, or the end */
		some = true;
		disk = disk || !str_starts(name, ZRAM_NODE);
		*ret_bytes += size << 10;
		*ret_free += used < size ? (size - used) << 10 : 0;
	}
	return disk ? SWAPS_DISK : some ? SWAPS_MEMORY : SWAPS_NONE;
}

enum swaps_kind swaps_now(uint64_t *ret_bytes, uint64_t *ret_free)
{
	char text[16384];

	*ret_bytes = *ret_free = 0;
	return file_read(AT_FDCWD, "/proc/swaps", text, sizeof text) < 0 ? SWAPS_NONE
									 : swaps_read(text, ret_bytes, ret_free);
}
