/* SPDX-License-Identifier: Apache-2.0 */
/* relay: two streams, each the other's reader. Each is read only while the other takes the bytes, and an end in one
 * direction is passed on while the other goes on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct stream;

struct relay_ops {
	void (*on_bytes)(void *user, bool from_first, size_t n); /* may be NULL */
	void (*on_over)(void *user); /* once, last: both have ended, or one is broken; the relay may be freed */
};

struct relay { /* part of its owner */
	struct relay_side {
		struct relay *r;
		struct stream *s;
		struct relay_side *other;
		bool eof; /* it sends no more */
	} side[2];
	const struct relay_ops *ops;
	void *user;
};

/* Owns the streams from now on. early: bytes that had already come from that side. */
void relay_begin(struct relay *r, struct stream *first, struct str early_first, struct stream *second,
    struct str early_second, const struct relay_ops *ops, void *user);

void relay_break(struct relay *r); /* resets both; on_over does not come */
