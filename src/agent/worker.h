/* SPDX-License-Identifier: Apache-2.0 */
/* agent/worker: threads for calls that block, and the way back to the loop.
 *
 * libatoll waits for its answers, so what uses it does not run on the loop. There are at most WORKER_THREADS of them,
 * made when they are first needed and gone after a minute without work; more jobs than that wait in line, up to
 * WORKER_WAITING. */
#pragma once

#include <stddef.h>

struct loop;
struct worker_pool;

#define WORKER_THREADS 96
#define WORKER_WAITING 1024
#define WORKER_EACH 64 /* threads that one caller may have: the others are for others */

typedef void worker_pool_fn(void *arg);

struct worker_pool *worker_pool_new(struct loop *l); /* NULL: out of memory or fds */
int worker_pool_run(struct worker_pool *w, worker_pool_fn *fn,
    void *arg); /* on some thread; -EBUSY: the line is too long */
void worker_pool_post(struct worker_pool *w, worker_pool_fn *fn,
    void *arg); /* on the loop, in the order of the calls; from any thread */
