/* SPDX-License-Identifier: Apache-2.0 */
/* isolate: host limits, mount namespace, capabilities, system calls. */
#include "warden/isolate.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"

/* Host limits that all sandboxes share. The engine sets the lower limits of each sandbox. */
static const struct {
	const char *path;
	uint64_t at_least;
} host_limits[] = {
	{ "/proc/sys/fs/inotify/max_user_instances", 65536 }, { "/proc/sys/fs/inotify/max_user_watches", 4194304 },
	/* The host-wide number of open files, which a single sandbox could use up. Without this limit each
	 * sandbox is bound by its memory limit, which its open files are charged to. systemd sets the same
	 * value. */
	{ "/proc/sys/fs/file-max", INT64_MAX },
	{ "/proc/sys/kernel/pty/max", 135168 },  /* 128 for each of 1000 sandboxes, and the host's own */
	{ "/proc/sys/kernel/pid_max", 1048576 }, /* 64 full sandboxes would use up the default of 32768 */
};

/* Limits that grow with the number of places for sandboxes: so many for each, and some for the host. The kernel counts
 * the namespaces of all sandboxes of a server as those of one user. An idle sandbox has two processes. */
static const struct {
	const char *path;
	uint64_t each, more;
} place_limits[] = {
	{ "/proc/sys/kernel/threads-max", 32, 16384 }, { "/proc/sys/kernel/pty/max", 128, 7168 },
	{ "/proc/sys/user/max_user_namespaces", 8, 4096 }, { "/proc/sys/user/max_pid_namespaces", 8, 4096 },
	{ "/proc/sys/user/max_net_namespaces", 8, 4096 }, { "/proc/sys/user/max_mnt_namespaces", 8, 4096 },
	{ "/proc/sys/user/max_ipc_namespaces", 8, 4096 }, { "/proc/sys/user/max_uts_namespaces", 8, 4096 },
	{ "/proc/sys/user/max_cgroup_namespaces", 8, 4096 }, { "/proc/sys/net/netfilter/nf_conntrack_max", 16, 65536 },
	{ "/proc/sys/net/core/bpf_jit_limit", 64 << 10, 64 << 20 }, /* the filters of a sandbox take 45 KiB */
};

static void raise_sysctl(const char *path, uint64_t at_least)
{
	char text[32];
	uint64_t now;

	if (file_read(AT_FDCWD, path, text, sizeof text) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (str_to_u64(str_of(text), UINT64_MAX, &now) < 0 || now >= at_least)
		return;
	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)at_least);
	int r = file_write(AT_FDCWD, path, text);

	if (r < 0)
		log_warn("could not raise a kernel limit of the host", "path=%s to=%s err=%s", path, text,
		    strerror(-r));
	else
		log_info("raised a kernel limit of the host", "path=%s from=%llu to=%s", path, (unsigned long long)now,
		    text);
}

void isolate_host(void)
{
	for (size_t i = 0; i < ARRAY_LEN(host_limits); i++)
		raise_sysctl(host_limits[i].path, host_limits[i].at_least);
}

void isolate_places(uint32_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(place_limits); i++)
		raise_sysctl(place_limits[i].path, place_limits[i].each * n + place_limits[i].more);
}

int isolate_mounts(struct err *e)
{
	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "make a mount namespace");
	/* A slave: mounts made later on the host propagate to this namespace, and mounts made here stay here. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return err_sys(e, "make the mount namespace private");
	return 0;
}

/* Not needed to create, limit and end sandboxes. The other capabilities stay, as a user namespace starts with a
 * full set whatever the warden drops. AUDIT_CONTROL stays for silencing a sandbox that floods the kernel's audit
 * system (service/refusals.c); AUDIT_READ was needed only for its socket. */
static const cap_value_t unused_caps[] = {
	CAP_LINUX_IMMUTABLE,
	CAP_NET_BROADCAST,
	CAP_SYS_MODULE,
	CAP_SYS_RAWIO,
	CAP_SYS_PACCT,
	CAP_SYS_BOOT,
	CAP_SYS_TIME,
	CAP_SYS_TTY_CONFIG,
	CAP_LEASE,
	CAP_AUDIT_WRITE,
	CAP_AUDIT_READ,
	CAP_MAC_OVERRIDE,
	CAP_MAC_ADMIN,
	CAP_SYSLOG,
	CAP_WAKE_ALARM,
	CAP_BLOCK_SUSPEND,
	CAP_PERFMON,
	CAP_BPF,
};

static int drop_caps(struct err *e)
{
	cap_t caps = cap_get_proc();
	int r = 0;

	if (!caps)
		return err_sys(e, "read the capabilities");
	for (size_t i = 0; i < ARRAY_LEN(unused_caps); i++) {
		cap_value_t c = unused_caps[i];

		if (prctl(PR_CAPBSET_READ, c, 0, 0, 0) != 1)
			continue; /* unknown to this kernel, or not in the initial bounding set */
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0 || cap_set_flag(caps, CAP_EFFECTIVE, 1, &c, CAP_CLEAR) < 0 ||
		    cap_set_flag(caps, CAP_PERMITTED, 1, &c, CAP_CLEAR) < 0)
			r = err_sys(e, "drop capability %d", c);
	}
	if (r == 0 && cap_set_proc(caps) < 0)
		r = err_sys(e, "drop capabilities");
	(void)cap_free(caps);
	return r;
}

/* Sandboxes inherit this filter, so it lists no call that a program in a sandbox may make. */
static const int refused_calls[] = {
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(lookup_dcookie),
	SCMP_SYS(nfsservctl),
	SCMP_SYS(uselib),
	SCMP_SYS(vhangup),
	SCMP_SYS(add_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(request_key),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(io_setup),
	SCMP_SYS(fanotify_init),
	SCMP_SYS(kcmp),
	SCMP_SYS(modify_ldt),
	SCMP_SYS(adjtimex),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(syslog),
	SCMP_SYS(move_pages),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(memfd_secret),
};

int isolate_calls(bool has_swap, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int r = ctx ? 0 : -ENOMEM;

	/* no_new_privs would be inherited by the sandboxes, where sudo must work. With CAP_SYS_ADMIN the filter
	 * can be installed without it. */
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(refused_calls); i++) {
		if (has_swap && refused_calls[i] == SCMP_SYS(swapoff))
			continue;
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused_calls[i], 0);
		if (r == -EDOM || r == -EFAULT) /* not a call of this architecture */
			r = 0;
	}
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? err_set(e, -r, "install the seccomp filter: %s", strerror(-r)) : 0;
}

int isolate_power(struct err *e)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "become not dumpable");
	return drop_caps(e);
}
