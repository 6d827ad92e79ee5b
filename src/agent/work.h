/* SPDX-License-Identifier: Apache-2.0 */
/* agent/work: threads for calls that block, and the way back to the loop.
 *
 * libatoll waits for its answers, so what uses it does not run on the loop. There are at most WORK_THREADS of them,
 * made when they are first needed and gone after a minute without work; more jobs than that wait in line, up to
 * WORK_WAITING. */
#pragma once

#include <stddef.h>

struct loop;
struct work;

#define WORK_THREADS 96
#define WORK_WAITING 1024
#define WORK_EACH 64 /* threads that one caller may have: the others are for others */

typedef void work_fn(void *arg);

struct work *work_new(struct loop *l);                  /* NULL: out of memory or fds */
int work_run(struct work *w, work_fn *fn, void *arg);   /* on some thread; -EBUSY: the line is too long */
void work_post(struct work *w, work_fn *fn, void *arg); /* on the loop, in the order of the calls; from any thread */
