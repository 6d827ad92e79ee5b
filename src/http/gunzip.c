/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip: decodes a stream of "Content-Encoding: gzip". */
#include "http/gunzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#define OUT_SIZE (64 * 1024)
#define GZIP_ONLY (15 + 16) /* largest window, gzip header required */

struct gunzip {
	z_stream z;
	bool between; /* a member has ended; the data may end here, or another member follows */
	unsigned char out[OUT_SIZE];
};

struct gunzip *gunzip_new(void)
{
	struct gunzip *g = calloc(1, sizeof(*g));

	if (g && inflateInit2(&g->z, GZIP_ONLY) != Z_OK) {
		free(g);
		return NULL;
	}
	return g;
}

int gunzip_feed(struct gunzip *g, struct str in, gunzip_fn *fn, void *user)
{
	g->z.next_in = (unsigned char *)in.p;
	g->z.avail_in = (unsigned)in.n; /* pieces of a body are small */
	while (g->z.avail_in > 0) {
		int rc, user_rc;

		if (g->between && inflateReset(&g->z) != Z_OK)
			return -EBADMSG;
		g->between = false;
		do {
			g->z.next_out = g->out;
			g->z.avail_out = OUT_SIZE;
			rc = inflate(&g->z, Z_NO_FLUSH);
			if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
				return -EBADMSG;
			user_rc = g->z.avail_out < OUT_SIZE
			    ? fn(user, (struct str) { (char *)g->out, OUT_SIZE - g->z.avail_out })
			    : 0;
			if (user_rc)
				return user_rc;
		} while (rc != Z_STREAM_END && g->z.avail_out == 0);
		g->between = rc == Z_STREAM_END;
	}
	return 0;
}

int gunzip_end(const struct gunzip *g)
{
	return g->between ? 0 : -EBADMSG;
}

static int into_buf(void *user, struct str data)
{
	struct buf *out = user;

	buf_str(out, data);
	return out->bad ? -EFBIG : 0;
}

int gunzip_all(struct str in, struct buf *out)
{
	struct gunzip *g = gunzip_new();
	int rc = g ? gunzip_feed(g, in, into_buf, out) : -ENOMEM;

	if (rc == 0)
		rc = gunzip_end(g);
	gunzip_free(g);
	return rc;
}

void gunzip_free(struct gunzip *g)
{
	if (!g)
		return;
	(void)inflateEnd(&g->z);
	free(g);
}
