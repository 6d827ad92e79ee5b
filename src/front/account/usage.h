/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/usage: resource use of a sandbox over the last minutes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msg_limits;
struct msg_usage;

#define USAGE_EVERY_MS 5000
#define USAGE_FIRST_MS 1000 /* early, so that a client that asks soon gets a sample */
#define USAGE_KEPT 180      /* samples: 15 minutes */

struct usage_sample {
	uint64_t at_ms; /* wall clock */
	uint64_t mem_bytes, mem_cache_bytes, disk_bytes;
	float cpu_pct; /* 100 = one core; since the previous sample */
	uint32_t pids; /* processes and threads */
};

struct usage_ring {
	struct usage_sample *v; /* NULL until the first sample */
	size_t n, at;           /* number of samples; index to write next */
	uint64_t next_mono_ms;  /* when the next sample is due */
	uint64_t last_cpu_ns, last_mono_ms;
	uint64_t last_sent; /* bytes */
	bool asked;
	struct {
		uint64_t mem_limit_bytes, disk_limit_bytes;
	} last;
};

void usage_init(struct usage_ring *r, uint64_t now_mono_ms);
void usage_renew(struct usage_ring *r, uint64_t now_mono_ms); /* the counters of the warden start at 0 again */
/* First report after a restart of the front: sets the counters, so that earlier use is not counted again. */
void usage_adopt(struct usage_ring *r, const struct msg_usage *m);
void usage_done(struct usage_ring *r);
void usage_add(struct usage_ring *r, const struct msg_usage *m, uint64_t now_mono_ms, uint64_t now_wall_ms);
const struct usage_sample *usage_get(const struct usage_ring *r, size_t i); /* 0: oldest; NULL if i is out of range */
/* Number of CPUs that clients see. */
uint32_t usage_cpus(const struct msg_limits *lim);
/* Percentage of all these CPUs, as clients see it. */
double usage_cpu_pct(const struct usage_sample *s, const struct msg_limits *lim);
