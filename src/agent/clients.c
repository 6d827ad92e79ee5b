/* SPDX-License-Identifier: Apache-2.0 */
/* agent/clients: a list, most recently used first. */
#include "agent/clients.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/link.h"
#include "agent/request.h"
#include "base/fd.h"
#include "client/client.h"
#include "mcp/sandbox_cache.h"

#define CLIENTS_MAX 128 /* cached between calls */

/* bytes of each output stream: many commands run at once, and the output is returned as text */
#define KEEP_MAX (2u * 1024 * 1024)

struct client {
	TAILQ_ENTRY(client) link;
	char *key, *team;
	struct sandbox_cache *cache;
};

static struct {
	pthread_mutex_t lock;
	TAILQ_HEAD(client_list, client) all;
	size_t n;
	struct atoll_sessions *sessions;
	void (*owner_of)(const struct caller *who, char ret[128]);
	struct atoll_breaker_config breaker;
} the = { .lock = PTHREAD_MUTEX_INITIALIZER, .all = TAILQ_HEAD_INITIALIZER(the.all) };

void clients_open(struct atoll_sessions *sessions, void (*owner_of)(const struct caller *who, char ret[128]),
    const struct atoll_breaker_config *breaker)
{
	the.breaker = *breaker;
	the.sessions = sessions;
	the.owner_of = owner_of;
}

static int open_socket(void *user)
{
	(void)user;
	return link_connect();
}

static void give_back(void *user, int fd, bool clean)
{
	(void)user;
	link_give_back(fd, clean);
}

static void client_free(struct client *c)
{
	if (!c)
		return;
	sandbox_cache_unref(c->cache);
	if (c->key)
		explicit_bzero(c->key, strlen(c->key));
	free(c->key);
	free(c->team);
	free(c);
}

static int client_new(const struct caller *who, struct client **ret, struct atoll_error *e)
{
	/* The URL does not matter: all connections go to the front, over sockets that it accepts from us. */
	struct atoll_config cfg = { .no_env = true,
		.api_url = "http://127.0.0.1",
		.api_key = who->key[0] ? who->key : "none" };
	struct client *c = calloc(1, sizeof *c);
	struct atoll *a;
	char owner[128];

	if (!c)
		return client_no_memory(e);
	c->key = strdup(who->key);
	c->team = strdup(who->team);
	the.owner_of(who, owner);
	if (atoll_new(&cfg, &a, e) < 0) {
		client_free(c);
		return -e->no;
	}
	if (client_via(a, open_socket, give_back, NULL, who->team, !who->key[0], e) < 0 ||
	    atoll_breaker_new(&the.breaker, &a->breaker, e) < 0) {
		atoll_free(a);
		client_free(c);
		return -e->no;
	}
	a->keep_max = KEEP_MAX;
	a->holder = strdup(who->key_id);
	a->scope = strdup(who->key_name);
	atoll_set_stop(a, agent_request_stopping, NULL);
	c->cache = sandbox_cache_new(a, the.sessions, owner);
	if (!c->key || !c->team || !c->cache || !a->holder || !a->scope) {
		client_free(c);
		return client_no_memory(e);
	}
	*ret = c;
	return 0;
}

static struct sandbox_cache *clients_find(const struct caller *who)
{
	struct sandbox_cache *b = NULL;
	struct client *c;

	(void)pthread_mutex_lock(&the.lock);
	TAILQ_FOREACH(c, &the.all, link)
	{
		if (strcmp(c->key, who->key) == 0 && strcmp(c->team, who->team) == 0)
			break;
	}
	if (c) {
		TAILQ_REMOVE(&the.all, c, link);
		TAILQ_INSERT_HEAD(&the.all, c, link);
		b = c->cache;
		sandbox_cache_ref(b);
	}
	(void)pthread_mutex_unlock(&the.lock);
	return b;
}

int clients_take(const struct caller *who, struct sandbox_cache **ret, struct atoll_error *e)
{
	struct client *c = NULL, *old = NULL;

	*ret = clients_find(who);
	if (*ret)
		return 0;
	if (client_new(who, &c, e) < 0)
		return -e->no;
	*ret = c->cache;
	sandbox_cache_ref(c->cache);
	(void)pthread_mutex_lock(&the.lock);
	/* If another thread did the same, the list has a duplicate that is never found and is evicted later. */
	TAILQ_INSERT_HEAD(&the.all, c, link);
	if (++the.n > CLIENTS_MAX) {
		old = TAILQ_LAST(&the.all, client_list);
		TAILQ_REMOVE(&the.all, old, link);
		the.n--;
	}
	(void)pthread_mutex_unlock(&the.lock);
	client_free(old);
	return 0;
}

size_t clients_broken(void)
{
	struct client *c;
	size_t n = 0;

	(void)pthread_mutex_lock(&the.lock);
	TAILQ_FOREACH(c, &the.all, link)
	n += strcmp(atoll_breaker_state(sandbox_cache_client(c->cache)->breaker), "closed") != 0;
	(void)pthread_mutex_unlock(&the.lock);
	return n;
}
