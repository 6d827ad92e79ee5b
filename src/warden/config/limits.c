/* SPDX-License-Identifier: Apache-2.0 */
/* config/limits: default and maximum limits of a sandbox, for all templates and for single ones. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "warden/config.h"

#define MIB_SHIFT 20
#define KIB_SHIFT 10

static const struct {
	const char *name;
	uint64_t usual; /* default if nothing else is configured; at most the maximum */
	bool optional;  /* 0 means no limit; a maximum of 0 means unbounded */
} limits[LIM_COUNT] = {
#define LIMIT(id, name, form, min, max, default_, most, optional, ...) [id] = { #name, default_, optional },
#include "ipc/settings.tbl"
};

struct msg_limits config_limits(const uint64_t v[LIM_COUNT])
{
	return (struct msg_limits) {
		.mem_bytes = v[LIM_MEMORY_MB] << MIB_SHIFT,
		.disk_bytes = v[LIM_DISK_MB] << MIB_SHIFT,
		.cpu_permille = (uint32_t)v[LIM_CPUS],
		.pids = (uint32_t)v[LIM_PIDS],
		.swap_bytes = v[LIM_SWAP_MB] << MIB_SHIFT,
		.io_bytes_s = v[LIM_IO_MB_S] << MIB_SHIFT,
		.io_ops_s = (uint32_t)v[LIM_IOPS],
		.egress_bytes = v[LIM_EGRESS_MB] << MIB_SHIFT,
		.egress_bytes_s = v[LIM_EGRESS_KB_S] << KIB_SHIFT,
		.open_files = (uint32_t)v[LIM_OPEN_FILES],
	};
}

/* A default that was not configured becomes the usual value, or the maximum if that is lower. A configured one
 * must not exceed the maximum. */
static int fit(enum config_limit i, const char *prefix, uint64_t *value, uint64_t usual, uint64_t max, struct err *e)
{
	const char *what = limits[i].name;
	bool endless = limits[i].optional && max == 0;

	if (*value == 0)
		*value = endless || (usual < max && !(limits[i].optional && usual == 0)) ? usual : max;
	if (endless || *value <= max)
		return 0;
	return err_set(e, EINVAL, "%s%s is above max_%s (%llu > %llu)", prefix, what, what, (unsigned long long)*value,
	    (unsigned long long)max);
}

/* Lowers the maxima to what the host has. */
static void clip_to_host(struct config *c)
{
	struct rlimit files;
	struct sysinfo si;
	uint64_t *mem = &c->maxima[LIM_MEMORY_MB], *open_files = &c->maxima[LIM_OPEN_FILES];

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && *open_files > files.rlim_max)
		*open_files = files.rlim_max;
	if (sysinfo(&si) == 0) {
		uint64_t all = (uint64_t)si.totalram * si.mem_unit >> MIB_SHIFT,
			 swap = (uint64_t)si.totalswap * si.mem_unit >> MIB_SHIFT;

		if (*mem > all)
			*mem = all;
		if (c->maxima[LIM_SWAP_MB] > swap)
			c->maxima[LIM_SWAP_MB] = swap;
	}
	if (c->mem_total_mb && *mem > c->mem_total_mb)
		*mem = c->mem_total_mb;
}

static int settle_template(const struct config *c, struct template_limits *t, struct err *e)
{
	for (int i = 0; i < LIM_COUNT; i++) {
		uint64_t all = c->maxima[i];
		bool endless = limits[i].optional && all == 0;

		if (!endless && t->maxima[i] > all)
			return err_set(e, EINVAL,
			    "template_limits = '%s ...': max_%s is above that of all (%llu > %llu)", t->name,
			    limits[i].name, (unsigned long long)t->maxima[i], (unsigned long long)all);
		if (t->maxima[i] == 0)
			t->maxima[i] = all;
		if (fit((enum config_limit)i, "", &t->defaults[i], c->defaults[i], t->maxima[i], e) < 0)
			return err_wrap(e, "template_limits = '%s ...'", t->name);
	}
	return 0;
}

int config_settle_limits(struct config *c, struct err *e)
{
	clip_to_host(c);
	for (int i = 0; i < LIM_COUNT; i++) {
		if (fit((enum config_limit)i, "default_", &c->defaults[i], limits[i].usual, c->maxima[i], e) < 0)
			return -e->no;
	}
	for (uint32_t i = 0; i < c->n_template_limits; i++) {
		if (settle_template(c, &c->template_limits[i], e) < 0)
			return -e->no;
	}
	return 0;
}

/* "memory_mb=512" or "max_memory_mb=1024", with the same ranges as the global keys. */
static int set_word(struct template_limits *t, struct str word)
{
	struct str value = word, name = str_cut(&value, '=');
	bool is_max = str_starts(name, "max_");
	char key[48];
	uint64_t n;

	if (!value.p)
		return -EINVAL;
	if (is_max)
		str_skip(&name, 4);
	for (int i = 0; i < LIM_COUNT; i++) {
		if (!str_is(name, limits[i].name))
			continue;
		(void)snprintf(key, sizeof key, "max_%s", limits[i].name);
		int r = config_number(str_of(key), value, &n);

		if (r == 0)
			(is_max ? t->maxima : t->defaults)[i] = n;
		return r;
	}
	return -EINVAL;
}

int config_set_template_limits(struct config *c, struct str value)
{
	struct template_limits t = { .name = "" };
	struct str name = config_next_word(&value), word;

	if (c->n_template_limits == TEMPLATES_MAX)
		return -E2BIG;
	if (name.n == 0 || !str_copy(t.name, sizeof t.name, name))
		return -EINVAL;
	for (uint32_t i = 0; i < c->n_template_limits; i++) {
		if (strcmp(c->template_limits[i].name, t.name) == 0)
			return -EINVAL;
	}
	while ((word = config_next_word(&value)).n) {
		if (set_word(&t, word) < 0)
			return -EINVAL;
	}
	c->template_limits[c->n_template_limits++] = t;
	return 0;
}
