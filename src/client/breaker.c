/* SPDX-License-Identifier: Apache-2.0 */
/* client/breaker: a circuit breaker. It refuses calls at once while a server is down, and lets one through now
 * and then to probe whether it is back. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "client/client.h"

#define FAILURES 5
#define OPEN_MS 30000

enum state { CLOSED, OPEN, HALF_OPEN };

struct atoll_breaker {
	pthread_mutex_t lock;
	struct atoll_breaker_config cfg;
	enum state state;
	unsigned failures; /* in a row */
	int64_t since_ms;  /* when it opened or sent its last probe */
};

static int64_t mono_now(void *user)
{
	(void)user;
	return (int64_t)clock_mono_ms();
}

int atoll_breaker_new(const struct atoll_breaker_config *cfg, struct atoll_breaker **ret, struct atoll_error *e)
{
	NEED(e, ret);
	struct atoll_breaker *b = calloc(1, sizeof *b);

	if (!b)
		return client_no_memory(e);
	if (cfg && TAKE_IN(&b->cfg, cfg, e) < 0) {
		free(b);
		return -e->no;
	}
	b->cfg.failures = b->cfg.failures ? b->cfg.failures : FAILURES;
	b->cfg.open_ms = b->cfg.open_ms ? b->cfg.open_ms : OPEN_MS;
	b->cfg.now_ms = b->cfg.now_ms ? b->cfg.now_ms : mono_now;
	(void)pthread_mutex_init(&b->lock, NULL);
	*ret = b;
	return 0;
}

void atoll_breaker_free(struct atoll_breaker *b)
{
	if (b)
		(void)pthread_mutex_destroy(&b->lock);
	free(b);
}

int atoll_breaker_enter(struct atoll_breaker *b, struct atoll_error *e)
{
	NEED(e, b);
	(void)pthread_mutex_lock(&b->lock);
	int64_t now = b->cfg.now_ms(b->cfg.user), left = b->since_ms + b->cfg.open_ms - now;
	bool go = b->state == CLOSED || left <= 0;

	/* A probe whose outcome is never reported must not keep the breaker half open: after open_ms, another one is
	 * sent. */
	if (b->state != CLOSED && go) {
		b->state = HALF_OPEN;
		b->since_ms = now;
	}
	(void)pthread_mutex_unlock(&b->lock);
	if (go)
		return 0;
	return client_fail(e, EHOSTDOWN, 0,
	    "the server has failed %u times in a row; no calls are made for another %lld ms", b->cfg.failures,
	    (long long)left);
}

void atoll_breaker_report(struct atoll_breaker *b, bool ok)
{
	if (!b)
		return;
	(void)pthread_mutex_lock(&b->lock);
	b->failures = ok ? 0 : b->failures + 1;
	if (ok) {
		b->state = CLOSED;
	} else if (b->state == HALF_OPEN || b->failures >= b->cfg.failures) {
		if (b->state != OPEN)
			b->since_ms = b->cfg.now_ms(b->cfg.user);
		b->state = OPEN;
	}
	(void)pthread_mutex_unlock(&b->lock);
}

const char *atoll_breaker_state(struct atoll_breaker *b)
{
	static const char *const names[] = { "closed", "open", "half-open" };

	(void)pthread_mutex_lock(&b->lock);
	enum state s = b->state == OPEN && b->since_ms + b->cfg.open_ms <= b->cfg.now_ms(b->cfg.user) ? HALF_OPEN
												      : b->state;
	(void)pthread_mutex_unlock(&b->lock);
	return names[s];
}
