/* SPDX-License-Identifier: Apache-2.0 */
/* view_text: formats the files of a view. */
#include "engine/view/text.h"

#include <string.h>

#include "base/fd.h"
#include "base/str.h"

#define TICKS 100u /* per second in /proc/stat, whatever the kernel's own tick is */
#define NS_TICK (1000000000u / TICKS)

const char *const view_names[VIEW_FILES] = {
	[VIEW_MEMINFO] = "meminfo",
	[VIEW_CPUINFO] = "cpuinfo",
	[VIEW_STAT] = "stat",
	[VIEW_UPTIME] = "uptime",
	[VIEW_LOADAVG] = "loadavg",
	[VIEW_SWAPS] = "swaps",
	[VIEW_DISKSTATS] = "diskstats",
	[VIEW_CPUS] = "cpus",
};

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t swap_free(const struct view_facts *f)
{
	return less(f->row.swap_bytes, f->use.swap_bytes);
}

static void meminfo(const struct view_facts *f, struct buf *out)
{
	const struct cgroup_detail *u = &f->use;
	/* Copies of formerly shared pages in a restored sandbox do not count: engine_record.extra_bytes. What was
	 * reclaimed while it was idle is still its own. */
	uint64_t held = u->mem_bytes + less(u->swap_bytes, f->row.swap_bytes);
	uint64_t total = f->row.mem_bytes, free = less(total, less(held, f->row.extra_bytes));
	uint64_t available = least(total, free + u->active_file + u->inactive_file + u->slab_reclaimable);
	const struct {
		const char *name;
		uint64_t bytes;
	} lines[] = {
		{ "MemTotal", total },
		{ "MemFree", free },
		{ "MemAvailable", available },
		{ "Buffers", 0 },
		{ "Cached", least(u->cache, total) },
		{ "SwapCached", 0 },
		{ "Active", u->active_anon + u->active_file },
		{ "Inactive", u->inactive_anon + u->inactive_file },
		{ "Active(anon)", u->active_anon },
		{ "Inactive(anon)", u->inactive_anon },
		{ "Active(file)", u->active_file },
		{ "Inactive(file)", u->inactive_file },
		{ "Unevictable", u->unevictable },
		{ "Mlocked", 0 },
		{ "SwapTotal", f->row.swap_bytes },
		{ "SwapFree", swap_free(f) },
		{ "Dirty", u->dirty },
		{ "Writeback", u->writeback },
		{ "AnonPages", u->active_anon + u->inactive_anon },
		{ "Mapped", u->mapped },
		{ "Shmem", u->shmem },
		{ "KReclaimable", u->slab_reclaimable },
		{ "Slab", u->slab },
		{ "SReclaimable", u->slab_reclaimable },
		{ "SUnreclaim", less(u->slab, u->slab_reclaimable) },
		{ "CommitLimit", total + f->row.swap_bytes },
		{ "Committed_AS", least(u->mem_bytes, total) },
		{ "VmallocTotal", 0 },
		{ "VmallocUsed", 0 },
		{ "VmallocChunk", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		int pad = 15 - (int)strlen(lines[i].name);

		buf_fmt(out, "%s:%*llu kB\n", lines[i].name, pad + 8, (unsigned long long)(lines[i].bytes >> 10));
	}
}

static bool has_cpu(const struct cpus *c, uint64_t number)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->at[i] == number)
			return true;
	}
	return false;
}

/* Parses "processor\t: 3"; false for any other line. */
static bool cpu_number(struct str line, uint64_t *ret)
{
	struct str name = str_cut(&line, ':');

	if (!str_starts(name, "processor") || !line.p || line.n < 2)
		return false;
	return str_to_u64((struct str) { line.p + 1, line.n - 1 }, UINT32_MAX, ret) == 0;
}

/* Copies the blocks of the sandbox's processors, and lines outside any block. */
static void cpuinfo(const struct view_facts *f, struct buf *out)
{
	struct str text = str_of(f->cpuinfo);
	bool shown = true;
	uint64_t number;

	while (text.n > 0) {
		struct str line = str_cut(&text, '\n');

		if (cpu_number(line, &number))
			shown = has_cpu(&f->cpus, number);
		if (!shown)
			continue;
		if (str_starts(line, "siblings\t") || str_starts(line, "cpu cores\t"))
			buf_fmt(out, "%s\t: %zu", str_starts(line, "s") ? "siblings" : "cpu cores", f->cpus.n);
		else
			buf_str(out, line);
		buf_ch(out, '\n');
	}
}

static uint64_t idle_ns(const struct view_facts *f)
{
	return less(f->age_ms * 1000000 * f->cpus.n, f->use.cpu_user_ns + f->use.cpu_system_ns);
}

static void cpu_line(const struct view_facts *f, const char *name, size_t part, struct buf *out)
{
	buf_fmt(out, "%s %llu 0 %llu %llu 0 0 0 0 0 0\n", name,
	    (unsigned long long)(f->use.cpu_user_ns / part / NS_TICK),
	    (unsigned long long)(f->use.cpu_system_ns / part / NS_TICK),
	    (unsigned long long)(idle_ns(f) / part / NS_TICK));
}

/* The kernel counts CPU time for a sandbox as a whole, so each of its processors gets an equal part. The boot time
 * stays the host's: programs add it to the start times of processes, which are relative to the host's boot too. */
static void stat(const struct view_facts *f, struct buf *out)
{
	char name[16];

	cpu_line(f, "cpu ", 1, out);
	for (size_t i = 0; i < f->cpus.n; i++) {
		(void)snprintf(name, sizeof name, "cpu%u", f->cpus.at[i]);
		cpu_line(f, name, f->cpus.n, out);
	}
	buf_fmt(out,
	    "intr 0\nctxt 0\nbtime %llu\nprocesses %u\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 "
	    "0\n",
	    (unsigned long long)f->host_boot_s, f->use.pids);
}

static void uptime(const struct view_facts *f, struct buf *out)
{
	uint64_t up = f->age_ms / 10, idle = idle_ns(f) / 10000000;

	buf_fmt(out, "%llu.%02u %llu.%02u\n", (unsigned long long)(up / 100), (unsigned)(up % 100),
	    (unsigned long long)(idle / 100), (unsigned)(idle % 100));
}

void view_load(double load[3], uint64_t dt_ms, uint64_t cpu_ns)
{
	static const double span_ms[3] = { 60e3, 300e3, 900e3 };
	double busy = dt_ms ? (double)cpu_ns / 1e6 / (double)dt_ms : 0;

	for (size_t i = 0; i < 3; i++) {
		double keep = 1 / (1 + (double)dt_ms / span_ms[i]);

		load[i] = load[i] * keep + busy * (1 - keep);
	}
}

static void swaps(const struct view_facts *f, struct buf *out)
{
	buf_z(out, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
	if (f->row.swap_bytes)
		buf_fmt(out, "%-40s%s\t\t%llu\t\t%llu\t\t-2\n", "swap", "file",
		    (unsigned long long)(f->row.swap_bytes >> 10),
		    (unsigned long long)((f->row.swap_bytes - swap_free(f)) >> 10));
}

void view_text(enum view_file which, const struct view_facts *f, struct buf *out)
{
	char list[CPUS_MAX * 5];

	switch (which) {
	case VIEW_MEMINFO:
		meminfo(f, out);
		break;
	case VIEW_CPUINFO:
		cpuinfo(f, out);
		break;
	case VIEW_STAT:
		stat(f, out);
		break;
	case VIEW_UPTIME:
		uptime(f, out);
		break;
	case VIEW_LOADAVG:
		buf_fmt(out, "%.2f %.2f %.2f 1/%u %u\n", f->load[0], f->load[1], f->load[2], f->use.pids, f->use.pids);
		break;
	case VIEW_SWAPS:
		swaps(f, out);
		break;
	case VIEW_CPUS:
		(void)cpus_text(&f->cpus, list, sizeof list);
		buf_fmt(out, "%s\n", list);
		break;
	case VIEW_DISKSTATS: /* a sandbox has no disks of its own */
	case VIEW_FILES:
		break;
	}
}
