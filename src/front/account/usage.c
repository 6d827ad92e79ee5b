/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/usage: a ring of samples per sandbox. */
#include "front/account/usage.h"

#include <stdlib.h>

#include "front/util/mem.h"
#include "ipc/msg.h"

void usage_init(struct usage_ring *r, uint64_t now_mono_ms)
{
	r->next_mono_ms = now_mono_ms + USAGE_FIRST_MS;
	r->last_mono_ms = now_mono_ms;
}

void usage_renew(struct usage_ring *r, uint64_t now_mono_ms)
{
	usage_init(r, now_mono_ms);
	r->last_cpu_ns = r->last_sent = 0;
}

void usage_adopt(struct usage_ring *r, const struct msg_usage *m)
{
	r->last_cpu_ns = m->cpu_ns;
}

void usage_done(struct usage_ring *r)
{
	free(r->v);
	r->v = NULL;
	r->n = 0;
}

void usage_add(struct usage_ring *r, const struct msg_usage *m, uint64_t now_mono_ms, uint64_t now_wall_ms)
{
	uint64_t ms = now_mono_ms > r->last_mono_ms ? now_mono_ms - r->last_mono_ms : 1;
	uint64_t ns = m->cpu_ns > r->last_cpu_ns ? m->cpu_ns - r->last_cpu_ns : 0;

	if (!r->v)
		r->v = must_alloc(USAGE_KEPT * sizeof *r->v);
	r->v[r->at] = (struct usage_sample) {
		.at_ms = now_wall_ms,
		.mem_bytes = m->mem_bytes,
		.mem_cache_bytes = m->mem_cache_bytes,
		.disk_bytes = m->disk_bytes,
		.cpu_pct = (float)ns / (float)ms / 1e4f, /* ns per ms, in percent */
		.pids = m->pids,
	};
	r->at = (r->at + 1) % USAGE_KEPT;
	if (r->n < USAGE_KEPT)
		r->n++;
	r->last_cpu_ns = m->cpu_ns;
	r->last_sent = m->sent_bytes;
	r->last_mono_ms = now_mono_ms;
	r->last.mem_limit_bytes = m->mem_limit_bytes;
	r->last.disk_limit_bytes = m->disk_limit_bytes;
}

const struct usage_sample *usage_get(const struct usage_ring *r, size_t i)
{
	return i < r->n ? &r->v[(r->at + USAGE_KEPT - r->n + i) % USAGE_KEPT] : NULL;
}

uint32_t usage_cpus(const struct msg_limits *lim)
{
	return (lim->cpu_permille + 999) / 1000;
}

double usage_cpu_pct(const struct usage_sample *s, const struct msg_limits *lim)
{
	uint32_t n = usage_cpus(lim);

	/* rounded up, so that a small value is not shown as 0 */
	return (double)(int64_t)(s->cpu_pct * 100.0 / (n ? n : 1) + 0.999) / 100;
}
