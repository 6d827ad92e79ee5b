/* SPDX-License-Identifier: Apache-2.0 */
/* buf: a growing byte buffer with a maximum size that is set at initialization.
 *
 * Overflow and lack of memory are remembered in `bad`, after which every append is a no-op: a writer appends
 * freely and checks once, at the end. The bytes are not NUL-terminated; buf_cstr() makes them so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
	char *p;
	size_t n, cap;
	size_t max; /* maximum size in bytes */
	bool bad;   /* something did not fit, or memory ran out */
};

#define BUF_INIT(ceiling) ((struct buf) { .max = (ceiling) })

void buf_done(struct buf *b);  /* frees; allowed on a zeroed one */
void buf_clear(struct buf *b); /* empties it and clears bad, but keeps the memory */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_z(struct buf *b, const char *z); /* appends a C string (without its NUL) */
void buf_ch(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_consume(struct buf *b, size_t n); /* drops n bytes at the front */
char *buf_room(struct buf *b, size_t n);   /* n writable bytes at the end, or NULL (and bad); then n += used */
char *buf_cstr(struct buf *b);             /* NUL-terminated view, valid until the next change; NULL when bad */

static inline struct str buf_view(const struct buf *b)
{
	return (struct str) { b->p, b->n };
}

#define autobuf __attribute__((cleanup(buf_done)))
