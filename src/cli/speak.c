/* SPDX-License-Identifier: Apache-2.0 */
/* cli/speak: prints the program's messages, one line each. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

static void say_v(const char *fmt, va_list ap)
{
	/* One write() per line, so that lines of several programs on one terminal do not mix. */
	char line[1024];

	(void)vsnprintf(line, sizeof(line), fmt, ap);
	(void)fprintf(stderr, "atoll: %s\n", line);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_v(fmt, ap);
	va_end(ap);
}

int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_v(fmt, ap);
	va_end(ap);
	return EXIT_FAILURE;
}

int usage_error(const struct verb *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_v(fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "usage: atoll %s %s\n", v->name, v->synopsis);
	return EXIT_USAGE;
}
