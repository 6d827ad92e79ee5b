/* SPDX-License-Identifier: Apache-2.0 */
/* agent/worker: a pool of threads for calls that block, and a way to call back on the loop.
 *
 * libatoll blocks, so its users do not run on the loop. The pool has at most WORKER_THREADS threads, which start on
 * demand and exit after a minute without work. Further jobs are queued, up to WORKER_WAITING. */
#pragma once

#include <stddef.h>

struct loop;
struct worker_pool;

#define WORKER_THREADS 96
#define WORKER_WAITING 1024
#define WORKER_EACH 64 /* threads per caller, so that no caller takes all */

typedef void worker_pool_fn(void *arg);

struct worker_pool *worker_pool_new(struct loop *l); /* NULL: out of memory or fds */
int worker_pool_run(struct worker_pool *w, worker_pool_fn *fn,
    void *arg); /* runs fn on a thread; -EBUSY: the queue is full */
void worker_pool_post(struct worker_pool *w, worker_pool_fn *fn,
    void *arg); /* runs fn on the loop, in call order; thread-safe */
