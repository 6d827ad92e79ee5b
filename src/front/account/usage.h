/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/usage: what a sandbox used over the last minutes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msg_limits;
struct msg_usage;

#define USAGE_EVERY_MS 5000
#define USAGE_FIRST_MS 1000 /* a client that asks early should find a point */
#define USAGE_KEPT 180      /* samples: 15 minutes */

struct usage_sample {
	uint64_t at_ms; /* wall clock */
	uint64_t mem_bytes, mem_cache_bytes, disk_bytes;
	float cpu_pct; /* 100 = one core, since the sample before */
	uint32_t pids; /* processes and threads */
};

struct usage_ring {
	struct usage_sample *v; /* NULL until the first sample */
	size_t n, at;           /* filled, next to write */
	uint64_t next_mono_ms;  /* when to ask again */
	uint64_t last_cpu_ns, last_mono_ms;
	uint64_t last_sent; /* bytes */
	bool asked;
	struct {
		uint64_t mem_limit_bytes, disk_limit_bytes;
	} last;
};

void usage_init(struct usage_ring *r, uint64_t now_mono_ms);
void usage_renew(struct usage_ring *r, uint64_t now_mono_ms); /* what is counted begins at 0 again */
/* what was used under an earlier front is not of now */
void usage_adopt(struct usage_ring *r, const struct msg_usage *m);
void usage_done(struct usage_ring *r);
void usage_add(struct usage_ring *r, const struct msg_usage *m, uint64_t now_mono_ms, uint64_t now_wall_ms);
const struct usage_sample *usage_get(const struct usage_ring *r, size_t i); /* 0 = oldest; NULL behind the last */
/* processors that the client is told of */
uint32_t usage_cpus(const struct msg_limits *lim);
/* of all of these, as clients know it */
double usage_cpu_pct(const struct usage_sample *s, const struct msg_limits *lim);
