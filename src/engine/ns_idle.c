/* SPDX-License-Identifier: Apache-2.0 */
/* ns_idle: the memory of idle sandboxes: where it may go, and the helper that has it reclaimed. */
#include "base/log.h"
#include "base/swaps.h"
#include "engine/cgroup/cgroup.h"
#include "engine/ns.h"
#include "engine/reclaim/zram.h"

/* Without the device sandboxes keep their memory, unless the host has other swap. */
static void open_zram(struct engine *en, bool empty)
{
	struct err e = ERR_INIT;

	if (zram_open(en->cfg.instance, en->cfg.keep_idle ? 0 : en->cfg.idle_zram_bytes, empty, &e) < 0)
		log_warn("idle_zram_mb has no effect", "err=%s", e.text);
}

int ns_open_cgroups(struct engine *en, bool empty, struct err *e)
{
	const struct engine_config *c = &en->cfg;
	struct cgroup_totals all = { .mem_bytes = c->mem_total_bytes, .cpu_weight = c->cpu_weight };
	uint64_t left;

	open_zram(en, empty);
	if (!c->keep_idle) {
		all.aside_bytes = c->idle_zram_bytes / ZRAM_MEMORY_PART;
		if (swaps_now(&all.swap_bytes, &left) == SWAPS_DISK && !c->idle_to_disk)
			all.swap_bytes = 0;
	}
	return cgroup_tree_open(c->instance, &all, &en->cgroups, e);
}

int ns_open_reclaim(struct engine *en, struct err *e)
{
	en->reclaim = (struct reclaim) {
		.cgroups = en->cgroups,
		.most = en->cfg.max_sandboxes,
		.after_ms = (uint64_t)en->cfg.idle_after_s * 1000,
		.to_disk = en->cfg.idle_to_disk,
	};
	return en->cfg.keep_idle ? 0 : reclaim_start(&en->reclaim, &en->reclaimer, e);
}

void ns_tick_reclaim(struct engine *en)
{
	if (!en->cfg.keep_idle)
		reclaim_tick(&en->reclaim, &en->reclaimer);
}

void ns_close_reclaim(struct engine *en, bool all)
{
	struct err e = ERR_INIT;

	helper_stop(&en->reclaimer);
	if (all && zram_close(en->cfg.instance, &e) < 0)
		log_warn("could not remove the compressed swap device: the next server does", "err=%s", e.text);
}
