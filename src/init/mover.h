/* SPDX-License-Identifier: Apache-2.0 */
/* mover: bytes both ways between two sockets, which are moved from one to the other without being copied through us.
 *
 * Each side is read only while the other takes what was read. An end in one direction is passed on while the other goes on,
 * unless the peer is gone altogether; an error resets both. */
#pragma once

#include "base/str.h"

struct loop;
struct mover;

/* Owns the fds (non-blocking stream sockets), also on failure. early: bytes of a that go to b first. over is called once, when both are
 * closed, never from in here; the mover is gone then. NULL: out of memory, or of fds. */
struct mover *mover_new(struct loop *l, int a, int b, struct str early, void (*over)(void *user), void *user);

void mover_break(struct mover *m);	/* resets both; it is gone, and over is not called */
