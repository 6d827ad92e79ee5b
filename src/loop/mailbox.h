/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox: messages to the thread of a loop.
 *
 * Any thread may post. Messages are delivered in the order in which they were posted, each in a callback of the loop.
 * A post costs a lock that is held for a few instructions; the first one since the last delivery also wakes the loop.
 * This is the only part of loop/ that another thread than that of the loop may call. */
#pragma once

#include <sys/queue.h>

struct loop;
struct mailbox;
struct uv_loop_s;

struct mail { /* embedded in a message on the heap */
	TAILQ_ENTRY(mail) next;
	void (*deliver)(struct mail *m); /* owns the message */
};

struct mailbox *mailbox_new(struct loop *l); /* NULL: out of memory */
void mailbox_post(struct mailbox *b, struct mail *m);
/* Delivers what was posted until now. By the thread of the loop. */
void mailbox_empty(struct mailbox *b);
/* By the thread of the loop, and when no other thread posts any more. What is left is delivered first. */
void mailbox_free(struct mailbox *b);

struct uv_loop_s *loop_uv(struct loop *l); /* internal */
