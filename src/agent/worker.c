/* SPDX-License-Identifier: Apache-2.0 */
/* agent/worker: a queue of jobs, the threads that run them, and a queue of callbacks for the loop. */
#include "agent/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"

#define STACK_BYTES (512 * 1024) /* virtual; only touched pages use memory */
#define IDLE_S 60

struct job {
	STAILQ_ENTRY(job) link;
	worker_pool_fn *fn;
	void *arg;
};

STAILQ_HEAD(job_list, job);

struct worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t some; /* a job is queued */
	struct job_list jobs, posts;
	size_t n_jobs;
	unsigned threads, idle;
	int event; /* readable while callbacks are queued */
	struct watch *watch;
};

static struct job *job_new(worker_pool_fn *fn, void *arg)
{
	struct job *j = malloc(sizeof *j);

	if (j)
		*j = (struct job) { .fn = fn, .arg = arg };
	return j;
}

/* Waits for a job. NULL: idle for too long; the thread is no longer counted and must exit. */
static struct job *next_job(struct worker_pool *w)
{
	struct timespec until;
	struct job *j;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += IDLE_S;
	(void)pthread_mutex_lock(&w->lock);
	w->idle++;
	while (STAILQ_EMPTY(&w->jobs) && r == 0)
		r = pthread_cond_timedwait(&w->some, &w->lock, &until);
	w->idle--;
	j = STAILQ_FIRST(&w->jobs);
	if (j) {
		STAILQ_REMOVE_HEAD(&w->jobs, link);
		w->n_jobs--;
	} else {
		w->threads--;
	}
	(void)pthread_mutex_unlock(&w->lock);
	return j;
}

static void *thread_main(void *arg)
{
	struct worker_pool *w = arg;
	struct job *j;

	while ((j = next_job(w))) {
		j->fn(j->arg);
		free(j);
	}
	return NULL;
}

/* Signals are handled by the loop's thread. */
static int thread_start(struct worker_pool *w)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;

	if (pthread_attr_init(&attr) != 0)
		return -ENOMEM;
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&t, &attr, thread_main, w);

	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return -r;
}

int worker_pool_run(struct worker_pool *w, worker_pool_fn *fn, void *arg)
{
	struct job *j = job_new(fn, arg);
	int r = 0;

	if (!j)
		return -ENOMEM;
	(void)pthread_mutex_lock(&w->lock);
	if (w->n_jobs >= WORKER_WAITING) {
		r = -EBUSY;
	} else if (w->n_jobs >= w->idle && w->threads < WORKER_THREADS) {
		r = thread_start(w);
		if (r == 0)
			w->threads++;
		else if (w->threads) /* another thread will take the job */
			r = 0;
	}
	if (r == 0) {
		STAILQ_INSERT_TAIL(&w->jobs, j, link);
		w->n_jobs++;
		(void)pthread_cond_signal(&w->some);
	}
	(void)pthread_mutex_unlock(&w->lock);
	if (r < 0)
		free(j);
	return r;
}

void worker_pool_post(struct worker_pool *w, worker_pool_fn *fn, void *arg)
{
	struct job *j = job_new(fn, arg);
	uint64_t one = 1;

	if (!j) {
		log_error("out of memory", "for=%s", "an answer");
		abort(); /* a client would wait forever; the warden restarts us */
	}
	(void)pthread_mutex_lock(&w->lock);
	bool first = STAILQ_EMPTY(&w->posts);

	STAILQ_INSERT_TAIL(&w->posts, j, link);
	(void)pthread_mutex_unlock(&w->lock);
	if (first && write(w->event, &one, sizeof one) < 0) {
		/* EAGAIN: already readable */
	}
}

static void on_event(void *user, int events)
{
	struct worker_pool *w = user;
	struct job_list mine = STAILQ_HEAD_INITIALIZER(mine);
	struct job *j;
	uint64_t n;

	(void)events;
	if (read(w->event, &n, sizeof n) < 0) {
		/* the queue is checked anyway */
	}
	(void)pthread_mutex_lock(&w->lock);
	STAILQ_CONCAT(&mine, &w->posts);
	(void)pthread_mutex_unlock(&w->lock);
	while ((j = STAILQ_FIRST(&mine))) {
		STAILQ_REMOVE_HEAD(&mine, link);
		j->fn(j->arg);
		free(j);
	}
}

struct worker_pool *worker_pool_new(struct loop *l)
{
	struct worker_pool *w = calloc(1, sizeof *w);
	pthread_condattr_t attr;

	if (!w)
		return NULL;
	STAILQ_INIT(&w->jobs);
	STAILQ_INIT(&w->posts);
	w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->watch = w->event < 0 ? NULL : watch_new(l, w->event, WATCH_IN, on_event, w);
	if (!w->watch || pthread_condattr_init(&attr) != 0) {
		watch_free(w->watch);
		fd_close(w->event);
		free(w);
		return NULL;
	}
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->some, &attr);
	(void)pthread_condattr_destroy(&attr);
	return w;
}
