/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/source: reads files from a directory or from an HTTP server.
 *
 * HTTP and TLS are spoken by children that have no privileges and can open nothing but the files of the resolver and
 * the certificates. What they report is bytes, and nothing is concluded from those before they were verified. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define SOURCE_PATH_SIZE 128

struct source;

struct source_want {
	char path[SOURCE_PATH_SIZE];
	size_t max; /* a longer file is an error */
};

/* `from`: a directory, or a URL of HTTP or HTTPS. */
int source_open(const char *from, struct source **ret, struct err *e);
void source_free(struct source *s);

/* Gets the whole file i. A non-zero return ends source_get(). */
typedef int source_sink(void *user, size_t i, const void *p, size_t n, struct err *e);

/* Gets n files in any order, several at a time. -ENOENT: the source has no such file. */
int source_get(struct source *s, const struct source_want *v, size_t n, source_sink *sink, void *user, struct err *e);
