/* SPDX-License-Identifier: Apache-2.0 */
/* agent/clients: a short list, the one used last first. */
#include "agent/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/link.h"
#include "agent/visit.h"
#include "base/fd.h"
#include "client/client.h"

#define IDLE_MAX 64

struct idle {
	TAILQ_ENTRY(idle) link;
	char *key, *team;
	struct atoll *a;
};

static struct {
	pthread_mutex_t lock;
	TAILQ_HEAD(idle_list, idle) idle;
	size_t n;
} the = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = TAILQ_HEAD_INITIALIZER(the.idle) };

static int open_socket(void *user)
{
	(void)user;
	return link_connect();
}

static void idle_free(struct idle *i)
{
	if (!i)
		return;
	atoll_free(i->a);
	if (i->key)
		explicit_bzero(i->key, strlen(i->key));
	free(i->key);
	free(i->team);
	free(i);
}

int clients_take(const struct caller *who, struct atoll **ret, struct atoll_error *e)
{
	/* Where it is does not matter: every connection is one that the front gets from us. */
	struct atoll_config cfg = { .no_env = true, .api_url = "http://127.0.0.1", .api_key = who->key[0] ? who->key : "none" };
	struct idle *i;

	(void)pthread_mutex_lock(&the.lock);
	TAILQ_FOREACH(i, &the.idle, link) {
		if (strcmp(i->key, who->key) == 0 && strcmp(i->team, who->team) == 0)
			break;
	}
	if (i) {
		TAILQ_REMOVE(&the.idle, i, link);
		the.n--;
	}
	(void)pthread_mutex_unlock(&the.lock);
	if (i) {
		*ret = take_ptr(&i->a);
		idle_free(i);
		return 0;
	}
	if (atoll_new(&cfg, ret, e) < 0)
		return -e->no;
	return client_via(*ret, open_socket, NULL, who->team, !who->key[0], e);
}

void clients_give(const struct caller *who, struct atoll *a)
{
	struct idle *i = calloc(1, sizeof *i), *old = NULL;

	atoll_set_stop(a, NULL, NULL);
	if (i)
		*i = (struct idle) { .key = strdup(who->key), .team = strdup(who->team), .a = a };
	if (!i || !i->key || !i->team) {
		if (!i)
			atoll_free(a);
		idle_free(i);
		return;
	}
	(void)pthread_mutex_lock(&the.lock);
	TAILQ_INSERT_HEAD(&the.idle, i, link);
	if (++the.n > IDLE_MAX) {
		old = TAILQ_LAST(&the.idle, idle_list);
		TAILQ_REMOVE(&the.idle, old, link);
		the.n--;
	}
	(void)pthread_mutex_unlock(&the.lock);
	idle_free(old);
}
