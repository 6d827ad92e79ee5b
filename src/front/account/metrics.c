/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/metrics: counting. */
#include "front/account/metrics.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/util/envd.h"
#include "front/util/mem.h"

static const uint32_t bound_us[HISTOGRAM_BUCKETS] = {
	500,
	1000,
	2500,
	5000,
	10000,
	25000,
	50000,
	100000,
	250000,
	500000,
	1000000,
	2500000,
	5000000,
	10000000,
};

struct metrics *metrics_new(void)
{
	struct metrics *m = must_alloc(sizeof *m);
	struct utsname host;

	m->started_wall_ms = clock_wall_ms();
	m->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	m->host_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	m->host_mem_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (uname(&host) == 0)
		memcpy(m->host_arch, host.machine, sizeof m->host_arch);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	fd_close(m->statm_fd);
	free(m);
}

void histogram_add(struct histogram *h, uint64_t us)
{
	size_t i = 0;

	while (i < HISTOGRAM_BUCKETS && us > bound_us[i])
		i++;
	h->n[i]++;
	h->sum_us += us;
}

double histogram_bound(size_t i)
{
	return bound_us[i] / 1e6;
}

enum outcome outcome_of(int status, bool lost)
{
	if (lost || status == 0)
		return OUTCOME_LOST;
	return status >= 500 ? OUTCOME_SERVER_ERROR : status >= 400 ? OUTCOME_CLIENT_ERROR : OUTCOME_OK;
}

static enum error_class class_of(int status, bool is_rate)
{
	switch (status) {
	case 401:
		return CLASS_AUTH;
	case 403:
		return CLASS_FORBIDDEN;
	case 404:
	case 410:
		return CLASS_NOT_FOUND;
	case 409:
		return CLASS_CONFLICT;
	case 413:
	case 431:
		return CLASS_TOO_LARGE;
	case 429:
		return is_rate ? CLASS_RATE : CLASS_QUOTA;
	case 503:
	case 504:
	case 507:
		return CLASS_UNAVAILABLE;
	default:
		return status >= 500 ? CLASS_INTERNAL : CLASS_BAD_REQUEST;
	}
}

void metrics_error(struct metrics *m, int status, bool is_rate)
{
	if (status >= 400)
		m->errors[class_of(status, is_rate)]++;
}

enum port_kind port_kind(uint16_t port)
{
	return port == PORT_ENVD ? PORT_KIND_ENVD : port == PORT_INTERPRETER ? PORT_KIND_INTERPRETER : PORT_KIND_USER;
}
