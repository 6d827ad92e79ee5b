/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: GET /metrics: CPU, memory and disk usage from /proc and the root file system. */
#include "init/metrics.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"
#include "init/init.h"
#include "init/reply.h"

uint64_t metrics_meminfo(struct str text, const char *key)
{
	while (text.p) {
		struct str line = str_cut(&text, '\n');
		struct str name = str_cut(&line, ':');
		uint64_t kib;

		if (!str_is(name, key) || !line.p)
			continue;
		line = str_trim(line);
		return str_to_u64(str_cut(&line, ' '), UINT64_MAX / 1024, &kib) < 0 ? 0 : kib * 1024;
	}
	return 0;
}

struct cpu {
	unsigned long long busy, all;
};

static struct cpu cpu_read(void)
{
	char text[4096] = "";
	unsigned long long v[8] = { 0 };
	struct cpu c = { 0, 0 };
	autoclose int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return c;
	(void)sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5],
	    &v[6], &v[7]);
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		c.all += v[i];
	c.busy = c.all - v[3] - v[4]; /* idle, iowait */
	return c;
}

/* Percentage of all CPUs since the previous request. */
static double cpu_used_pct(void)
{
	static struct cpu last;
	struct cpu now = cpu_read();
	double all = (double)(now.all - last.all), busy = (double)(now.busy - last.busy);

	last = now;
	return all > 0 && busy > 0 ? (double)(long long)(busy / all * 10000 + 0.5) / 100 : 0;
}

void metrics_get(struct init *in, struct http_req *rq)
{
	autojson json_t *o = json_object();
	char text[8192] = "";
	ssize_t n = file_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text));
	struct str mem = { text, n > 0 ? (size_t)n : 0 };
	uint64_t total = metrics_meminfo(mem, "MemTotal"), available = metrics_meminfo(mem, "MemAvailable");
	uint64_t used = total > available ? total - available : 0;
	struct statvfs fs = { 0 };

	(void)in;
	(void)statvfs("/", &fs);
	uint64_t disk_total = fs.f_blocks * fs.f_frsize, disk_used = (fs.f_blocks - fs.f_bavail) * fs.f_frsize;

	(void)json_object_set_new(o, "ts", json_integer((json_int_t)time(NULL)));
	(void)json_object_set_new(o, "cpu_count", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	(void)json_object_set_new(o, "cpu_used_pct", json_real(cpu_used_pct()));
	(void)json_object_set_new(o, "mem_total", json_integer((json_int_t)total));
	(void)json_object_set_new(o, "mem_used", json_integer((json_int_t)used));
	(void)json_object_set_new(o, "mem_cache", json_integer((json_int_t)metrics_meminfo(mem, "Cached")));
	(void)json_object_set_new(o, "mem_total_mib", json_integer((json_int_t)(total >> 20)));
	(void)json_object_set_new(o, "mem_used_mib", json_integer((json_int_t)(used >> 20)));
	(void)json_object_set_new(o, "disk_used", json_integer((json_int_t)disk_used));
	(void)json_object_set_new(o, "disk_total", json_integer((json_int_t)disk_total));
	init_reply_json(rq, 200, "Cache-Control: no-store\r\n", o);
}
