/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox: a list under a lock, and libuv's way to wake a loop. */
#include "loop/mailbox.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <uv.h>

#include "loop/loop.h"
#include "loop/streams.h"

TAILQ_HEAD(mails, mail);

struct mailbox {
	uv_async_t h;
	struct loop *loop;
	pthread_mutex_t lock; /* for the list */
	struct mails list;
};

static void take_all(struct mailbox *b, struct mails *ret)
{
	TAILQ_INIT(ret);
	(void)pthread_mutex_lock(&b->lock);
	TAILQ_CONCAT(ret, &b->list, next);
	(void)pthread_mutex_unlock(&b->lock);
}

void mailbox_empty(struct mailbox *b)
{
	struct mails got;
	struct mail *m;

	take_all(b, &got);
	while ((m = TAILQ_FIRST(&got))) {
		TAILQ_REMOVE(&got, m, next);
		joined_begin(loop_joined(b->loop));
		m->deliver(m);
		joined_end(loop_joined(b->loop));
	}
}

static void on_async(uv_async_t *h)
{
	mailbox_empty((struct mailbox *)h);
}

struct mailbox *mailbox_new(struct loop *l)
{
	struct mailbox *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	b->loop = l;
	TAILQ_INIT(&b->list);
	if (pthread_mutex_init(&b->lock, NULL) != 0 || uv_async_init(loop_uv(l), &b->h, on_async) < 0) {
		free(b);
		return NULL;
	}
	return b;
}

void mailbox_post(struct mailbox *b, struct mail *m)
{
	(void)pthread_mutex_lock(&b->lock);

	bool is_first = TAILQ_EMPTY(&b->list);

	TAILQ_INSERT_TAIL(&b->list, m, next);
	(void)pthread_mutex_unlock(&b->lock);
	if (is_first)
		(void)uv_async_send(&b->h);
}

static void on_closed(uv_handle_t *h)
{
	struct mailbox *b = (struct mailbox *)h;

	(void)pthread_mutex_destroy(&b->lock);
	free(b);
}

void mailbox_free(struct mailbox *b)
{
	if (!b)
		return;
	mailbox_empty(b);
	uv_close((uv_handle_t *)&b->h, on_closed);
}
