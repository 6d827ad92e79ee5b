/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/metrics: counters of the front. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/account/alerts.h"
#include "front/account/executions.h"
#include "ipc/msg.h"
#include "ipc/webhooks.h"

#define HISTOGRAM_BUCKETS 14
#define METRICS_ROUTES_MAX 128
#define METRICS_SANDBOXES_MAX 200 /* with metrics of their own */

enum outcome { OUTCOME_OK, OUTCOME_CLIENT_ERROR, OUTCOME_SERVER_ERROR, OUTCOME_LOST, OUTCOMES };

enum error_class {
	CLASS_AUTH,
	CLASS_FORBIDDEN,
	CLASS_NOT_FOUND,
	CLASS_BAD_REQUEST,
	CLASS_CONFLICT,
	CLASS_TOO_LARGE,
	CLASS_QUOTA,
	CLASS_RATE,
	CLASS_UNAVAILABLE,
	CLASS_INTERNAL,
	CLASSES,
};

enum end_reason { END_KILLED, END_EXPIRED, END_DIED, END_OOM, END_FAILED, END_REASONS };
enum port_kind { PORT_KIND_ENVD, PORT_KIND_INTERPRETER, PORT_KIND_USER, PORT_KINDS };

/* What a request into a sandbox counts is atomic: several threads serve them. */
struct histogram {
	atomic_uint_fast64_t n[HISTOGRAM_BUCKETS + 1]; /* the last one: above all bounds */
	atomic_uint_fast64_t sum_us;
};

struct timed {
	atomic_uint_fast64_t n[OUTCOMES];
	struct histogram time;
};

struct executions {
	atomic_uint_fast64_t n[EXECUTION_OUTCOMES];
	struct histogram time;
};

struct metrics {
	struct executions executions[EXECUTION_KINDS];
	atomic_uint_fast64_t execution_errors[ERROR_CLASSES];
	struct timed routes[METRICS_ROUTES_MAX + 1]; /* by route_index(); the last one: unknown path */
	uint64_t errors[CLASSES];
	struct timed ports[PORT_KINDS];
	atomic_uint_fast64_t bytes_up, bytes_down;
	uint64_t starts_ok, starts_failed, ends[END_REASONS];
	uint64_t oom_kills;
	struct histogram create;
	struct histogram warden[OP_COUNT];
	uint64_t auth_failures;
	/* deliveries: attempts, given up, not queued */
	uint64_t webhooks_tried[HK_OUTCOMES], webhooks_failed, webhooks_dropped;
	uint64_t alerts[ALERTS];
	uint64_t refused_calls; /* of sandboxes, as far as they were reported */
	uint64_t started_wall_ms;
	long host_cpus; /* CPUs of the machine; read at the start, as statm_fd */
	uint64_t host_mem_bytes;
	char host_arch[65];
	int statm_fd; /* /proc/self/statm, opened at the start because the front can open no file later */
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

void histogram_add(struct histogram *h, uint64_t us);
double histogram_bound(size_t i); /* upper bound of bucket i, in seconds */
enum outcome outcome_of(int status, bool lost);
/* Counts an answer with that status, if it is an error. */
void metrics_error(struct metrics *m, int status, bool is_rate);
enum port_kind port_kind(uint16_t port);
