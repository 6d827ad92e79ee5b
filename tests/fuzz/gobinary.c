/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a file that claims to be a program of Go. What is accepted has printable words, which may be names of
 * files. */
#include <errno.h>
#include <string.h>

#include "cli/host/gobinary.h"
#include "fuzz.h"

static void printable(const char *z)
{
	for (; *z; z++)
		MUST(*z > ' ' && *z <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str file = { (const char *)data, size };
	struct gobinary g = { .machine = 7 };
	struct err e = ERR_INIT;
	int r = gobinary_read(file, "example.com/m", &g, &e);

	MUST(r == 0 || r == -ENOEXEC || r == -EBADMSG);
	if (r < 0) {
		MUST(g.machine == 7 && e.no == -r && e.text[0]);
		return 0;
	}
	MUST(size >= 64 && memcmp(data, "\177ELF", 4) == 0 && g.go[0] && g.path[0]);
	printable(g.go);
	printable(g.path);
	printable(g.version);
	printable(g.sum);
	return 0;
}
