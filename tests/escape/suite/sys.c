/* SPDX-License-Identifier: Apache-2.0 */
/* sys: /sys and the cgroups. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "attempt.h"

#define WRITER(fn, path, text) \
	static int fn(void) \
	{ \
		return try_write(path, text); \
	}
#define LOOKER(fn, path) \
	static int fn(void) \
	{ \
		return look(path); \
	}

/* Anything in there is one thing too many. */
static int look(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *de;

	if (!d)
		return refused(errno, "open %s", path);
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] != '.') {
			closedir(d);
			return broken("%s has %s", path, de->d_name);
		}
	}
	closedir(d);
	return held("%s is empty", path);
}

WRITER(uevent, "/sys/kernel/uevent_helper", "/bin/false")
WRITER(power, "/sys/power/state", "mem")
WRITER(thp, "/sys/kernel/mm/transparent_hugepage/enabled", "always")
WRITER(ksm, "/sys/kernel/mm/ksm/run", "1")
WRITER(device, "/sys/devices/virtual/net/lo/mtu", "1000")
WRITER(cpu_online, "/sys/devices/system/cpu/cpu1/online", "0")
WRITER(parameter, "/sys/module/printk/parameters/time", "N")
WRITER(cg_procs, "/sys/fs/cgroup/cgroup.procs", "1")
WRITER(cg_release, "/sys/fs/cgroup/release_agent", "/bin/false")
WRITER(cg_v1_release, "/sys/fs/cgroup/memory/release_agent", "/bin/false")
WRITER(cg_rdma_release, "/sys/fs/cgroup/rdma/release_agent", "/bin/false")
WRITER(cg_memory, "/sys/fs/cgroup/memory.max", "max")
WRITER(cg_pids, "/sys/fs/cgroup/pids/pids.max", "max")

LOOKER(cgroups, "/sys/fs/cgroup")
LOOKER(debug, "/sys/kernel/debug")
LOOKER(tracing, "/sys/kernel/tracing")
LOOKER(security, "/sys/kernel/security")
LOOKER(configfs, "/sys/kernel/config")
LOOKER(firmware, "/sys/firmware")
LOOKER(block, "/sys/devices/virtual/block")
LOOKER(btrfs, "/sys/fs/btrfs")
LOOKER(btf, "/sys/kernel/btf")
LOOKER(powercap, "/sys/devices/virtual/powercap")
LOOKER(bpffs, "/sys/fs/bpf")
LOOKER(pstore, "/sys/fs/pstore")
LOOKER(proc_fs, "/proc/fs")
LOOKER(proc_acpi, "/proc/acpi")
LOOKER(proc_scsi, "/proc/scsi")

/* Links of the host and of the neighbours: only lo and eth0 are here. */
static int links(void)
{
	DIR *d = opendir("/sys/class/net");
	struct dirent *de;
	int n = 0;

	if (!d)
		return unclear("open: %s", errno_name(errno));
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		if (strcmp(de->d_name, "lo") != 0 && strcmp(de->d_name, "eth0") != 0 &&
		    strncmp(de->d_name, "tunl", 4) != 0 && strncmp(de->d_name, "sit", 3) != 0 &&
		    strncmp(de->d_name, "gre", 3) != 0 && strncmp(de->d_name, "ip", 2) != 0 &&
		    strncmp(de->d_name, "erspan", 6) != 0) {
			int r = broken("%s is here", de->d_name);

			closedir(d);
			return r;
		}
		n++;
	}
	closedir(d);
	return n ? held("%d links, all its own", n) : unclear("no links at all");
}

static const char no_write[] = "/sys configures nothing from inside";
static const char no_tell[] = "/sys tells nothing of the host's disks and of other sandboxes";
static const char cgroup[] = "no cgroup can be seen or changed from inside";

#define W(word, g, fn) \
	{ \
		"sys/write-" word, g, fn, .expect = { EROFS, EACCES, EPERM, ENOENT } \
	}
#define L(word, g, fn) \
	{ \
		"sys/look-" word, g, fn, .expect = { EACCES, EPERM, ENOENT } \
	}

static const struct attempt attempts[] = {
	W("uevent-helper", no_write, uevent),
	W("power", no_write, power),
	W("huge-pages", no_write, thp),
	W("ksm", no_write, ksm),
	W("device", no_write, device),
	W("cpu-online", no_write, cpu_online),
	W("module-parameter", no_write, parameter),
	W("cgroup-procs", cgroup, cg_procs),
	W("release-agent", cgroup, cg_release),
	W("release-agent-v1", cgroup, cg_v1_release),
	W("release-agent-rdma", cgroup, cg_rdma_release),
	W("memory-max", cgroup, cg_memory),
	W("pids-max", cgroup, cg_pids),
	L("cgroups", cgroup, cgroups),
	L("debug", no_tell, debug),
	L("tracing", no_tell, tracing),
	L("security", no_tell, security),
	L("config", no_tell, configfs),
	L("firmware", no_tell, firmware),
	L("block", no_tell, block),
	L("btrfs", no_tell, btrfs),
	L("btf", no_tell, btf),
	L("powercap", no_tell, powercap),
	L("bpf", no_tell, bpffs),
	L("pstore", no_tell, pstore),
	L("proc-fs", no_tell, proc_fs),
	L("proc-acpi", no_tell, proc_acpi),
	L("proc-scsi", no_tell, proc_scsi),
	{ "sys/links-of-the-host", no_tell, links },
};
GROUP(sys, "sys");
