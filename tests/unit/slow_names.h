/* SPDX-License-Identifier: Apache-2.0 */
/* slow_names: a resolver that does not answer. To be included by one file of a program: its getaddrinfo() is then the
 * one that libcurl calls, and a question for a name that ends in ".slow" comes back only when names_answer() was
 * called. */
#pragma once

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned waiting; /* questions */
	bool answer;
} names = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	size_t n = name ? strlen(name) : 0;

	if (n < 5 || strcmp(name + n - 5, ".slow") != 0) {
		*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
		return next(name, service, hints, ret);
	}
	(void)pthread_mutex_lock(&names.lock);
	names.waiting++;
	(void)pthread_cond_broadcast(&names.changed);
	while (!names.answer)
		(void)pthread_cond_wait(&names.changed, &names.lock);
	names.waiting--;
	(void)pthread_cond_broadcast(&names.changed);
	(void)pthread_mutex_unlock(&names.lock);
	return EAI_NONAME;
}

static inline unsigned names_waiting(void)
{
	(void)pthread_mutex_lock(&names.lock);
	unsigned n = names.waiting;

	(void)pthread_mutex_unlock(&names.lock);
	return n;
}

/* All of them, and returns when nobody waits any more. */
static inline void names_answer(void)
{
	(void)pthread_mutex_lock(&names.lock);
	names.answer = true;
	(void)pthread_cond_broadcast(&names.changed);
	while (names.waiting > 0)
		(void)pthread_cond_wait(&names.changed, &names.lock);
	names.answer = false;
	(void)pthread_mutex_unlock(&names.lock);
}
