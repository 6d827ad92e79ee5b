/* SPDX-License-Identifier: Apache-2.0 */
/* oci/expand: one interface to zlib and libzstd, with a limit on the output. */
#include "oci/expand.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define OUT_SIZE (256u << 10)
#define MAGIC_SIZE 4
#define ZSTD_WINDOW_LOG_MAX 27 /* 128 MiB: the window size that the format recommends decoders to support */

enum form { FORM_UNKNOWN, FORM_PLAIN, FORM_GZIP, FORM_ZSTD };

struct expand {
	enum form form;
	unsigned char magic[MAGIC_SIZE];
	size_t n_magic;
	uint64_t in, out, max_out;
	expand_fn *fn;
	void *user;
	struct digest_run *hash;
	z_stream z;
	bool z_ready;
	ZSTD_DStream *zstd;
	bool between; /* after a gzip member or zstd frame: the data may end here */
	unsigned char buf[OUT_SIZE];
};

struct expand *expand_new(uint64_t max_out, expand_fn *fn, void *user)
{
	struct expand *x = calloc(1, sizeof *x);

	if (!x)
		return NULL;
	x->max_out = max_out;
	x->fn = fn;
	x->user = user;
	x->hash = digest_run_new();
	if (!x->hash) {
		expand_free(x);
		return NULL;
	}
	return x;
}

void expand_free(struct expand *x)
{
	if (!x)
		return;
	if (x->z_ready)
		(void)inflateEnd(&x->z);
	(void)ZSTD_freeDStream(x->zstd);
	digest_run_free(x->hash);
	free(x);
}

uint64_t expand_out(const struct expand *x)
{
	return x->out;
}

static int give(struct expand *x, const void *p, size_t n, struct err *e)
{
	if (n == 0)
		return 0;
	if (n > x->max_out - x->out)
		return err_set(e, EFBIG, "the layer becomes larger than %llu MiB",
		    (unsigned long long)(x->max_out >> 20));
	x->out += n;
	if (x->out > EXPAND_RATIO_FROM && x->out / EXPAND_RATIO_MAX > x->in)
		return err_set(e, EFBIG, "the layer becomes more than %d times as large as it came: a bomb",
		    EXPAND_RATIO_MAX);
	digest_run_put(x->hash, p, n);
	int rc = x->fn(x->user, p, n);

	return rc < 0 ? err_set(e, -rc, "pass on the layer: %s", strerror(-rc)) : rc;
}

static int begin(struct expand *x, struct err *e)
{
	static const unsigned char gzip[] = { 0x1f, 0x8b }, zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };

	x->form = FORM_PLAIN;
	if (x->n_magic >= 2 && memcmp(x->magic, gzip, 2) == 0) {
		if (inflateInit2(&x->z, 15 + 16) != Z_OK)
			return err_set(e, ENOMEM, "begin with gzip: out of memory");
		x->z_ready = true;
		x->form = FORM_GZIP;
	} else if (x->n_magic == 4 && memcmp(x->magic, zstd, 4) == 0) {
		x->zstd = ZSTD_createDStream();
		if (!x->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(x->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX)))
			return err_set(e, ENOMEM, "begin with zstd: out of memory");
		x->form = FORM_ZSTD;
	}
	return 0;
}

static int put_gzip(struct expand *x, const unsigned char *p, size_t n, struct err *e)
{
	x->z.next_in = (unsigned char *)(uintptr_t)p;
	x->z.avail_in = (unsigned)n;
	while (x->z.avail_in > 0) {
		if (x->between) { /* another member, or zero padding */
			if (*x->z.next_in == 0) {
				x->z.next_in++;
				x->z.avail_in--;
				continue;
			}
			if (inflateReset(&x->z) != Z_OK)
				return err_set(e, EBADMSG, "the layer is not gzip behind its first part");
			x->between = false;
		}
		x->z.next_out = x->buf;
		x->z.avail_out = sizeof x->buf;
		int z = inflate(&x->z, Z_NO_FLUSH);

		if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
			return err_set(e, z == Z_MEM_ERROR ? ENOMEM : EBADMSG, "the layer is damaged: gzip: %s",
			    x->z.msg ? x->z.msg : "bad data");
		int rc = give(x, x->buf, sizeof x->buf - x->z.avail_out, e);
		if (rc != 0)
			return rc;
		x->between = z == Z_STREAM_END;
	}
	return 0;
}

static int put_zstd(struct expand *x, const void *p, size_t n, struct err *e)
{
	ZSTD_inBuffer in = { p, n, 0 };
	bool full = false;

	while (in.pos < in.size || full) {
		ZSTD_outBuffer out = { x->buf, sizeof x->buf, 0 };
		size_t z = ZSTD_decompressStream(x->zstd, &out, &in);

		if (ZSTD_isError(z))
			return err_set(e, EBADMSG, "the layer is damaged: zstd: %s", ZSTD_getErrorName(z));
		full = out.pos == out.size; /* the decoder may hold more output */
		int rc = give(x, x->buf, out.pos, e);
		if (rc != 0)
			return rc;
		x->between = z == 0;
	}
	return 0;
}

static int put_as(struct expand *x, const void *p, size_t n, struct err *e)
{
	switch (x->form) {
	case FORM_GZIP:
		return put_gzip(x, p, n, e);
	case FORM_ZSTD:
		return put_zstd(x, p, n, e);
	default:
		return give(x, p, n, e);
	}
}

int expand_put(struct expand *x, const void *p, size_t n, struct err *e)
{
	const unsigned char *u = p;

	x->in += n;
	if (x->form == FORM_UNKNOWN) {
		while (n > 0 && x->n_magic < MAGIC_SIZE) {
			x->magic[x->n_magic++] = *u++;
			n--;
		}
		if (x->n_magic < MAGIC_SIZE)
			return 0;
		int rc = begin(x, e);
		if (rc == 0)
			rc = put_as(x, x->magic, x->n_magic, e);
		if (rc != 0)
			return rc;
	}
	return n > 0 ? put_as(x, u, n, e) : 0;
}

int expand_end(struct expand *x, struct digest *ret_out, struct err *e)
{
	int rc = 0;

	if (x->form == FORM_UNKNOWN && x->n_magic > 0) {
		rc = begin(x, e);
		if (rc == 0)
			rc = put_as(x, x->magic, x->n_magic, e);
		if (rc != 0)
			return rc;
	}
	if ((x->form == FORM_GZIP || x->form == FORM_ZSTD) && !x->between)
		return err_set(e, EBADMSG, "the layer is cut off");
	digest_run_end(x->hash, ret_out);
	return 0;
}
