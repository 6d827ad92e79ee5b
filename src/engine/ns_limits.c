/* SPDX-License-Identifier: Apache-2.0 */
/* ns_limits: limits of a running sandbox, and freezing. */
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/cgroup/cgroup.h"
#include "engine/disk/storage.h"
#include "engine/net/cap.h"
#include "engine/net/link.h"
#include "engine/ns.h"
#include "engine/slot.h"

/* Lifts or restores the I/O limit of a frozen sandbox. A snapshot flushes the sandbox's dirty pages, but v2
 * charges that I/O to the sandbox: at its rate a pause would take as long as writing all of them. The sandbox does
 * no I/O of its own meanwhile. */
static void limit_io(struct engine *en, const struct engine_record *r, const struct engine_limits *to, bool frozen)
{
	static const struct engine_limits none;
	struct cgroup_limits lim = ns_cgroup_limits(en, r->spec.slot, frozen ? &none : to, 0);
	struct err e = ERR_INIT;

	if ((to->io_bytes_s || to->io_ops_s) && cgroup_io(en->cgroups, r->spec.id, &lim, &e) < 0)
		log_warn("could not change an I/O limit", "id=%s frozen=%d err=%s", r->spec.id, frozen, e.text);
}

/* While its memory is being read, possibly by a helper of an earlier warden, the sandbox counts as frozen, and is
 * frozen once that is over. */
int ns_freeze(struct engine *en, const struct engine_record *r, bool on, struct err *e)
{
	autoclose int lock = -1;
	struct err why = ERR_INIT;

	if (storage_lock(en->storage, r->spec.id, &lock, &why) == -EBUSY)
		return on ? 0 : err_set(e, EAGAIN, "sandbox '%s': its memory is being read", r->spec.id);
	if (on)
		limit_io(en, r, &r->spec.limits,
		    true); /* first: a process that waits for the disk freezes only when its I/O is done */
	if (cgroup_freeze(en->cgroups, r->spec.id, on, e) < 0)
		return err_wrap(e, "sandbox '%s'", r->spec.id);
	if (!on)
		limit_io(en, r, &r->spec.limits, false);
	return 0;
}

struct cgroup_limits ns_cgroup_limits(const struct engine *en, uint32_t slot, const struct engine_limits *l,
    uint64_t extra_bytes)
{
	struct cgroup_limits lim = {
		.mem_bytes = l->mem_bytes + extra_bytes,
		.swap_bytes = l->swap_bytes,
		.cpu_permille = l->cpu_permille,
		.pids = l->pids,
		.io_bytes_s = l->io_bytes_s,
		.io_ops_s = l->io_ops_s,
	};
	struct cpus chosen;

	cpus_choose(&en->view.cpus, slot, l->cpu_permille, &chosen);
	if (!en->cfg.no_view && chosen.n < en->view.cpus.n && !cpus_text(&chosen, lim.cpus, sizeof lim.cpus))
		lim.cpus[0] = '\0';
	return lim;
}

bool ns_is_capped(const struct engine_limits *l)
{
	return l->egress_bytes || l->egress_bytes_s;
}

int ns_cap_egress(struct engine *en, const struct engine_spec *spec, const struct engine_limits *l, bool again,
    struct err *e)
{
	struct net_cap cap = { .bytes = l->egress_bytes, .bytes_s = l->egress_bytes_s };
	uint64_t received;
	struct slot s;

	if (!ns_is_capped(l) && !ns_is_capped(&spec->limits))
		return 0;
	slot_fill(en->cfg.instance, spec->slot, &s);
	if (again)
		(void)net_count(&s, &cap.used_bytes, &received);
	if (cap.used_bytes > cap.bytes) /* the kernel accepts no more */
		cap.used_bytes = cap.bytes;
	return net_cap_set(en->cfg.instance, spec->slot, &cap, e);
}

uint64_t ns_reclaimed(const struct cgroup_usage *us, const struct engine_limits *l)
{
	return us->swap_bytes > l->swap_bytes ? us->swap_bytes - l->swap_bytes : 0;
}

/* Refuses a limit below current usage, the same for both versions: v2 would kill processes for it, and v1 cannot
 * set it. */
static int fits_memory(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e)
{
	struct cgroup_usage us;

	if (cgroup_usage(en->cgroups, r->spec.id, &us, e) < 0)
		return -e->no;
	uint64_t held = us.swap_bytes + (us.mem_bytes > us.mem_cache_bytes ? us.mem_bytes - us.mem_cache_bytes : 0);

	if (held <= to->mem_bytes + to->swap_bytes + r->extra_bytes)
		return 0;
	return err_set(e, EBUSY, "it uses %llu MiB of memory now", (unsigned long long)(held >> 20));
}

static int apply_limits(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e)
{
	struct cgroup_limits lim = ns_cgroup_limits(en, r->spec.slot, to, r->extra_bytes);

	if (cgroup_limit(en->cgroups, r->spec.id, &lim, e) < 0 || ns_cap_egress(en, &r->spec, to, true, e) < 0)
		return -e->no;
	view_set(&en->view, &r->spec, to, r->extra_bytes, 0);
	return storage_limit(en->storage, r->spec.id, to->disk_bytes, e);
}

int ns_limit(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e)
{
	struct err ignored = ERR_INIT;

	if (fits_memory(en, r, to, e) < 0)
		return err_wrap(e, "sandbox '%s'", r->spec.id);
	if (apply_limits(en, r, to, e) == 0) {
		if (cgroup_is_frozen(en->cgroups, r->spec.id))
			limit_io(en, r, to, true);
		return 0;
	}
	(void)apply_limits(en, r, &r->spec.limits, &ignored);
	return err_wrap(e, "sandbox '%s'", r->spec.id);
}

int ns_hurry(struct engine *en, const struct engine_record *r, bool on)
{
	uint32_t permille = r->spec.limits.cpu_permille;

	return permille ? cgroup_cpu(en->cgroups, r->spec.id, on ? 0 : permille) : 0;
}

void engine_ns_measure(struct engine *en, struct start_times *times)
{
	en->times = times;
}
