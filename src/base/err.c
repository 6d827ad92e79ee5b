/* SPDX-License-Identifier: Apache-2.0 */
/* err: error texts without the heap. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int no, const char *fmt, ...)
{
	va_list ap;

	e->no = no;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	return -no;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int no = errno; /* saved before anything below can change it */
	va_list ap;

	e->no = no;
	va_start(ap, fmt);
	int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof e->text)
		(void)snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", strerror(no));
	return -no;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char inner[sizeof e->text];
	va_list ap;

	memcpy(inner, e->text, sizeof inner);
	va_start(ap, fmt);
	int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof e->text)
		(void)snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", inner);
	return -e->no;
}
