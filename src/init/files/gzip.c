/* SPDX-License-Identifier: Apache-2.0 */
/* gzip: compresses a stream. */
#include "init/files/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#define OUT_SIZE (32 * 1024)
#define LEVEL 1               /* fast: compression blocks the loop of pid 1 */
#define GZIP_HEADER (15 + 16) /* largest window */
#define MEM_LEVEL 8

struct gzip {
	z_stream z;
	unsigned char out[OUT_SIZE];
};

struct gzip *gzip_new(void)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (g && deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_HEADER, MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return NULL;
	}
	return g;
}

void gzip_feed(struct gzip *g, struct str in, bool last, gzip_fn *fn, void *user)
{
	int rc;

	g->z.next_in = (unsigned char *)in.p;
	g->z.avail_in = (unsigned)in.n; /* pieces of a file are small */
	do {
		g->z.next_out = g->out;
		g->z.avail_out = OUT_SIZE;
		rc = deflate(&g->z, last ? Z_FINISH : Z_NO_FLUSH);
		if (g->z.avail_out < OUT_SIZE)
			fn(user, (struct str) { (char *)g->out, OUT_SIZE - g->z.avail_out });
	} while (rc == Z_OK && g->z.avail_out == 0);
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	(void)deflateEnd(&g->z);
	free(g);
}
