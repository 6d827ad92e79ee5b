/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/warm: a pool of unused sandboxes. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"

#define TARGET_MAX 100

struct atoll_warm {
	pthread_mutex_t lock;
	struct atoll *a;
	struct atoll_spec spec; /* its strings and arrays belong to the caller */
	size_t target, n;
	struct atoll_sandbox *waiting[TARGET_MAX]; /* oldest first */
	struct atoll_warm_stats stats;
};

int atoll_warm_new(struct atoll *a, const struct atoll_spec *spec, size_t target, struct atoll_warm **ret,
    struct atoll_error *e)
{
	NEED(e, a && spec && ret);
	if (target > TARGET_MAX)
		return client_fail(e, EINVAL, 0, "at most %d sandboxes can be kept warm", TARGET_MAX);
	struct atoll_warm *w = calloc(1, sizeof *w);

	if (!w)
		return client_no_memory(e);
	w->a = a;
	w->spec = *spec;
	w->target = target;
	(void)pthread_mutex_init(&w->lock, NULL);
	*ret = w;
	return 0;
}

int atoll_warm_fill(struct atoll_warm *w, struct atoll_error *e)
{
	NEED(e, w);
	for (int made = 0;; made++) {
		struct atoll_sandbox *sb = NULL;

		(void)pthread_mutex_lock(&w->lock);
		bool full = w->n >= w->target;
		(void)pthread_mutex_unlock(&w->lock);
		if (full)
			return made;
		if (atoll_sandbox_create(w->a, &w->spec, &sb, e) < 0)
			return -e->no;
		(void)pthread_mutex_lock(&w->lock);
		full = w->n >= TARGET_MAX;
		if (!full)
			w->waiting[w->n++] = sb;
		(void)pthread_mutex_unlock(&w->lock);
		if (full)
			return atoll_warm_give(w, sb, e);
	}
}

static struct atoll_sandbox *pop(struct atoll_warm *w)
{
	struct atoll_sandbox *sb = NULL;

	(void)pthread_mutex_lock(&w->lock);
	if (w->n > 0) {
		sb = w->waiting[0];
		memmove(w->waiting, w->waiting + 1, --w->n * sizeof *w->waiting);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return sb;
}

int atoll_warm_take(struct atoll_warm *w, struct atoll_sandbox **ret, struct atoll_error *e)
{
	NEED(e, w && ret);
	bool hit = false;

	for (struct atoll_sandbox *sb; !hit && (sb = pop(w));) {
		/* Its timeout has run while it waited and may have expired. Restart it for the new user. */
		hit = atoll_set_timeout(w->a, atoll_sandbox_id(sb), w->spec.timeout_s ? w->spec.timeout_s : 300, e) ==
		    0;
		if (hit)
			*ret = sb;
		else
			atoll_sandbox_free(sb);
	}
	(void)pthread_mutex_lock(&w->lock);
	w->stats.hits += hit;
	w->stats.misses += !hit;
	(void)pthread_mutex_unlock(&w->lock);
	return hit ? 0 : atoll_sandbox_create(w->a, &w->spec, ret, e);
}

int atoll_warm_give(struct atoll_warm *w, struct atoll_sandbox *sb, struct atoll_error *e)
{
	NEED(e, w && sb);
	int rc = atoll_kill(w->a, atoll_sandbox_id(sb), e);

	atoll_sandbox_free(sb);
	return rc == -ENOENT ? 0 : rc;
}

void atoll_warm_stats(struct atoll_warm *w, struct atoll_warm_stats *ret)
{
	(void)pthread_mutex_lock(&w->lock);
	*ret = w->stats;
	ret->waiting = w->n;
	(void)pthread_mutex_unlock(&w->lock);
}

void atoll_warm_free(struct atoll_warm *w)
{
	struct atoll_error e;

	if (!w)
		return;
	for (struct atoll_sandbox *sb; (sb = pop(w));)
		(void)atoll_warm_give(w, sb, &e);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}
