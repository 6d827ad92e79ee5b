/* SPDX-License-Identifier: Apache-2.0 */
/* relay: connects two streams in both directions. Each is read only while the other accepts the bytes. An end of
 * file in one direction is passed on while the other direction continues. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct stream;

struct relay_ops {
	void (*on_bytes)(void *user, bool from_first, size_t n); /* may be NULL */
	void (*on_over)(void *user); /* once, last: both have ended, or one failed; the relay may be freed */
};

struct relay { /* embedded in its owner */
	struct relay_side {
		struct relay *r;
		struct stream *s;
		struct relay_side *other;
		bool eof; /* it has sent end of file */
	} side[2];
	const struct relay_ops *ops;
	void *user;
};

/* Takes ownership of the streams. early: bytes that were already read from that side. */
void relay_begin(struct relay *r, struct stream *first, struct str early_first, struct stream *second,
    struct str early_second, const struct relay_ops *ops, void *user);

void relay_break(struct relay *r); /* resets both; on_over is not called */
