/* SPDX-License-Identifier: Apache-2.0 */
/* kernel: calls that are the host's own business, or doors that were broken too often. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <time.h>

#include "attempt.h"

static char buf[4096];
static struct timespec when = { 1000000000, 0 };

static int perf(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_CPU_CLOCK };

	return SYS(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static int bpf_map(void)
{
	struct {
		uint32_t type, key, value, entries;
		char rest[112];
	} a = { 2, 4, 8, 1, { 0 } };

	return SYS(SYS_bpf, 0, &a, sizeof a);
}

static int io_uring(void)
{
	uint32_t params[30] = { 0 };

	return SYS(SYS_io_uring_setup, 8, params);
}

static int aio(void)
{
	unsigned long ctx = 0;

	return SYS(SYS_io_setup, 8, &ctx);
}

/* The shocker class: a file of the host by its number, past every path. */
static int handle(void)
{
	struct {
		unsigned bytes;
		int type;
		unsigned char h[64];
	} fh = { 8, 1, { 0 } };
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	fh.h[0] = 2;
	return fd < 0 ? unclear("open /: %s", errno_name(errno)) : SYS(SYS_open_by_handle_at, fd, &fh, O_RDONLY);
}

/* And one that the kernel has given out itself: valid for sure, refused all the same. */
static int own_handle(void)
{
	struct {
		unsigned bytes;
		int type;
		unsigned char h[128];
	} fh = { .bytes = 128 };
	int mount_id, fd = open("/", O_RDONLY | O_DIRECTORY);

	if (fd < 0 || syscall(SYS_name_to_handle_at, fd, "etc/passwd", &fh, &mount_id, 0) < 0)
		return skip("no handle: %s", errno_name(errno));
	return SYS(SYS_open_by_handle_at, fd, &fh, O_RDONLY);
}

static int sched(int policy)
{
	struct sched_param p = { .sched_priority = 1 };

	return sched_setscheduler(0, policy, &p) < 0 ? -errno : 0;
}

static int fifo(void)
{
	return sched(SCHED_FIFO);
}
static int round_robin(void)
{
	return sched(SCHED_RR);
}

static int deadline(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t prio;
		uint64_t run, dead, period;
	} a = { sizeof a, 6, 0, 0, 0, 1000000, 10000000, 10000000 };

	return SYS(SYS_sched_setattr, 0, &a, 0);
}

static int nice_up(void)
{
	return setpriority(PRIO_PROCESS, 0, -20) < 0 ? -errno : 0;
}

static int ioprio(void)
{
	return SYS(SYS_ioprio_set, 1, 0, 1 << 13);
}

static int huge(void)
{
	void *p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

static int huge_memfd(void)
{
	return SYS(SYS_memfd_create, "x", MFD_HUGETLB);
}

/* Others can see whose pages are the same as theirs. */
static int merge(void)
{
	void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return unclear("mmap: %s", errno_name(errno));
	return madvise(p, 1 << 20, MADV_MERGEABLE) < 0 ? -errno : 0;
}

/* ... and all of one's pages at once: W9 */
static int merge_all(void)
{
	return SYS(SYS_prctl, 67, 1, 0, 0, 0);
}

/* 1: no dump at all. 0 would be none into a file, and a handler of the host behind a pipe would still get one. */
static int core_limit(void)
{
	struct rlimit l = { 1 << 20, 1 << 20 };

	(void)setrlimit(RLIMIT_CORE, &l);
	l.rlim_cur = l.rlim_max = 0;
	(void)setrlimit(RLIMIT_CORE, &l);
	(void)syscall(SYS_prlimit64, 0, RLIMIT_CORE | 1ul << 33, &l, NULL);
	if (getrlimit(RLIMIT_CORE, &l) < 0)
		return unclear("getrlimit: %s", errno_name(errno));
	return l.rlim_cur == 1 && l.rlim_max == 1 ? held("it is 1 as before")
						  : broken("it is %lu now", (unsigned long)l.rlim_cur);
}

static int raise_nofile(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return unclear("getrlimit: %s", errno_name(errno));
	l.rlim_max++;
	return setrlimit(RLIMIT_NOFILE, &l) < 0 ? -errno : 0;
}

static int raise_pending(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_SIGPENDING, &l) < 0)
		return unclear("getrlimit: %s", errno_name(errno));
	l.rlim_max++;
	return setrlimit(RLIMIT_SIGPENDING, &l) < 0 ? -errno : 0;
}

static int clock_back(void)
{
	return clock_settime(CLOCK_REALTIME, &when) < 0 ? -errno : 0;
}

static int frequency(void)
{
	struct timex t = { .modes = ADJ_FREQUENCY, .freq = 1 };

	return SYS(SYS_adjtimex, &t);
}

static const char host[] = "the host's own business is closed to sandboxes";
static const char doors[] = "kernel interfaces without use for data work are closed";
static const char keys[] = "no kernel keyring, which is one for all";
static const char paths[] = "no file but by its path";
static const char fair[] = "no sandbox takes precedence over others";
static const char limits[] = "no limit can be raised";

static const struct attempt attempts[] = {
	{ "kernel/bpf", doors, bpf_map, .expect = { EPERM }, .flags = OUTSIDE },
	{ "kernel/perf-event-open", doors, perf, .expect = { EPERM } },
	{ "kernel/userfaultfd", doors, NULL, SYS_userfaultfd, { N(0) }, { EPERM }, OUTSIDE },
	{ "kernel/io-uring", doors, io_uring, .expect = { ENOSYS } },
	{ "kernel/aio-table", "no table of the whole host can be filled", aio, .expect = { ENOSYS }, .flags = OUTSIDE },
	{ "kernel/fanotify", doors, NULL, SYS_fanotify_init, { N(0), N(0) }, { EPERM }, OUTSIDE },
	{ "kernel/kcmp", doors, NULL, SYS_kcmp, { N(1), N(1), N(0), N(0), N(0) }, { EPERM } },
	{ "kernel/move-pages", doors, NULL, SYS_move_pages, { N(0), N(0), NULL, NULL, NULL, N(0) }, { EPERM },
	    OUTSIDE },
	{ "kernel/migrate-pages", doors, NULL, SYS_migrate_pages, { N(0), N(0), NULL, NULL }, { EPERM } },
	{ "kernel/lookup-dcookie", doors, NULL, SYS_lookup_dcookie, { N(0), buf, N(100) }, { EPERM } },
	{ "kernel/modify-ldt", doors, NULL, SYS_modify_ldt, { N(0), buf, N(100) }, { EPERM }, OUTSIDE },
	{ "kernel/memfd-secret", doors, NULL, 447, { N(0) }, { ENOSYS } },
	{ "kernel/add-key", keys, NULL, SYS_add_key, { "user", "escape", "x", N(1), N(-3) }, { EPERM }, OUTSIDE },
	{ "kernel/request-key", keys, NULL, SYS_request_key, { "user", "escape", NULL, N(0) }, { EPERM } },
	{ "kernel/keyctl", keys, NULL, SYS_keyctl, { N(0), N(-3), N(1) }, { EPERM }, OUTSIDE },
	{ "kernel/open-by-handle", paths, handle, .expect = { EPERM } },
	{ "kernel/open-by-own-handle", paths, own_handle, .expect = { EPERM } },
	{ "kernel/kexec", host, NULL, SYS_kexec_load, { N(0), N(0), NULL, N(0) }, { EPERM } },
	{ "kernel/kexec-file", host, NULL, SYS_kexec_file_load, { N(-1), N(-1), N(0), "", N(0) }, { EPERM } },
	{ "kernel/init-module", host, NULL, SYS_init_module, { buf, N(16), "" }, { EPERM } },
	{ "kernel/finit-module", host, NULL, SYS_finit_module, { N(0), "", N(0) }, { EPERM } },
	{ "kernel/delete-module", host, NULL, SYS_delete_module, { "escape", N(0) }, { EPERM } },
	{ "kernel/reboot", host, NULL, SYS_reboot, { N(0xfee1dead), N(672274793), N(0), NULL }, { EPERM } },
	{ "kernel/swapon", host, NULL, SYS_swapon, { "/etc/passwd", N(0) }, { EPERM } },
	{ "kernel/sethostname", host, NULL, SYS_sethostname, { "escaped", N(7) }, { EPERM }, OUTSIDE },
	{ "kernel/setdomainname", host, NULL, SYS_setdomainname, { "escaped", N(7) }, { EPERM }, OUTSIDE },
	{ "kernel/settimeofday", host, NULL, SYS_settimeofday, { &when, NULL }, { EPERM } },
	{ "kernel/clock-settime", host, clock_back, .expect = { EPERM } },
	{ "kernel/adjtimex", host, frequency, .expect = { EPERM } },
	{ "kernel/acct", host, NULL, SYS_acct, { "/tmp/escape-acct" }, { EPERM } },
	{ "kernel/iopl", host, NULL, SYS_iopl, { N(3) }, { EPERM } },
	{ "kernel/ioperm", host, NULL, SYS_ioperm, { N(0x80), N(1), N(1) }, { EPERM } },
	{ "kernel/quotactl", host, NULL, SYS_quotactl, { N(0x800002ul << 8), NULL, N(0), buf }, { EPERM } },
	{ "kernel/syslog", "the kernel's log is the host's", NULL, SYS_syslog, { N(3), buf, N(4000) }, { EPERM } },
	{ "kernel/vhangup", host, NULL, SYS_vhangup, { N(0) }, { EPERM } },
	{ "kernel/nfsservctl", host, NULL, SYS_nfsservctl, { N(0) }, { EPERM, ENOSYS } },
	{ "kernel/sched-fifo", fair, fifo, .expect = { EPERM } },
	{ "kernel/sched-rr", fair, round_robin, .expect = { EPERM } },
	{ "kernel/sched-deadline", fair, deadline, .expect = { EPERM } },
	{ "kernel/nice", fair, nice_up, .expect = { EACCES, EPERM } },
	{ "kernel/io-flusher", fair, NULL, SYS_prctl, { N(57), N(1), N(0), N(0), N(0) }, { EPERM, EINVAL } },
	{ "kernel/io-priority", fair, ioprio, .expect = { EPERM } },
	{ "kernel/huge-pages", "no memory on the host's account", huge, .expect = { ENOMEM } },
	{ "kernel/huge-memfd", "no memory on the host's account", huge_memfd, .expect = { EINVAL } },
	{ "kernel/merge-pages", "no page is shared with others for being alike", merge, .expect = { EINVAL },
	    .flags = OUTSIDE },
	{ "kernel/merge-all-pages", "no page is shared with others for being alike", merge_all, .expect = { EINVAL } },
	{ "kernel/core-limit", "no crash inside reaches a handler on the host", core_limit },
	{ "kernel/raise-open-files", limits, raise_nofile, .expect = { EPERM } },
	{ "kernel/raise-signals", limits, raise_pending, .expect = { EPERM } },
};
GROUP(kernel, "kernel");
