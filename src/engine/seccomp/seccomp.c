/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: compiles the table into filters. */
#include "engine/seccomp/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/seccomp/table.h"

#define X32_BIT 0x40000000 /* in a call's number, on x86_64 */

static uint32_t action_of(enum seccomp_verdict v)
{
	return v == SECCOMP_GIVEN ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(v == SECCOMP_REFUSED ? EPERM : ENOSYS);
}

/* Returns the number of the next name of a list; -1: unknown to this libseccomp, or absent on this machine. */
static int next_call(struct str *list)
{
	struct str word = str_cut(list, ' ');
	char name[SECCOMP_NAME_SIZE];

	return str_copy(name, sizeof name, word) ? seccomp_syscall_resolve_name(name) : -1;
}

static int add_group(scmp_filter_ctx ctx, const struct seccomp_group *g, uint32_t otherwise)
{
	uint32_t action = action_of(g->verdict);
	struct str list = str_of(g->calls);
	int r = 0;

	while (r == 0 && list.p && action != otherwise) {
		int nr = next_call(&list);

		if (nr >= 0)
			r = seccomp_rule_add(ctx, action, nr, 0);
	}
	return r;
}

static int fill_calls(scmp_filter_ctx ctx, bool zygote)
{
	uint32_t otherwise = SCMP_ACT_ERRNO(ENOSYS);
	int r = seccomp_rule_add(ctx, zygote ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setns), 0);

	for (size_t i = 0; r == 0 && i < n_seccomp_groups; i++)
		r = add_group(ctx, &seccomp_groups[i], otherwise);
	return r;
}

static int fill_args(scmp_filter_ctx ctx, bool quiet)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_seccomp_arg_rules; i++) {
		const struct seccomp_arg_rule *a = &seccomp_arg_rules[i];
		int nr = a->quiet == quiet ? seccomp_syscall_resolve_name(a->call) : -1;

		if (nr >= 0)
			r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)a->no), nr, a->n_args, a->args);
	}
	for (size_t i = 0; r == 0 && quiet && i < n_seccomp_groups; i++) {
		if (seccomp_groups[i].quiet)
			r = add_group(ctx, &seccomp_groups[i], SCMP_ACT_ALLOW);
	}
	return r;
}

static int export(scmp_filter_ctx ctx, struct sock_filter **ret, unsigned short *ret_n)
{
	struct stat st;
	autoclose int fd = memfd_create("filter", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	autofree void *p = malloc((size_t)st.st_size);

	if (!p)
		return -ENOMEM;
	r = fd_read_all(fd, p, (size_t)st.st_size);
	if (r < 0)
		return r;
	*ret_n = (unsigned short)((size_t)st.st_size / sizeof(struct sock_filter));
	*ret = take_ptr(&p);
	return 0;
}

static int build(int part, struct seccomp_filter *f)
{
	scmp_filter_ctx ctx = seccomp_init(part == SECCOMP_CALLS ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW);

	if (!ctx)
		return -ENOMEM;
	/* 32-bit and x32 programs use another set of calls, which has not been reviewed. */
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a list of 300 comparisons */
	int r = part == SECCOMP_CALLS ? fill_calls(ctx, f->flags & SECCOMP_ZYGOTE)
				      : fill_args(ctx, part == SECCOMP_QUIET);

	if (r == 0)
		r = export(ctx, &f->part[part].code, &f->part[part].n);
	seccomp_release(ctx);
	return r;
}

int seccomp_filter_build(struct seccomp_filter *ret, unsigned flags, struct err *e)
{
	int r = 0;

	*ret = (struct seccomp_filter) { .flags = flags };
	for (int i = 0; r == 0 && i < SECCOMP_PARTS; i++)
		r = build(i, ret);
	if (r < 0) {
		seccomp_filter_done(ret);
		return err_set(e, -r, "build the system call filter: %s", strerror(-r));
	}
	return 0;
}

void seccomp_filter_done(struct seccomp_filter *f)
{
	for (int i = 0; i < SECCOMP_PARTS; i++)
		free(f->part[i].code);
	*f = (struct seccomp_filter) { 0 };
}

int seccomp_filter_install(const struct seccomp_filter *f, struct err *e)
{
	/* The filters that are installed already allow the next installation: seccomp() is on the list. */
	for (int i = 0; i < SECCOMP_PARTS; i++) {
		struct sock_fprog prog = { f->part[i].n, f->part[i].code };
		unsigned flags = i == SECCOMP_QUIET || !(f->flags & SECCOMP_TOLD) ? 0 : SECCOMP_FILTER_FLAG_LOG;

		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog) < 0)
			return err_sys(e, "install the system call filter");
	}
	return 0;
}

/* --- explaining -------------------------------------------------------------------------------------------------- */

static bool group_has(const struct seccomp_group *g, const char *name)
{
	struct str list = str_of(g->calls);

	while (list.p) {
		if (str_is(str_cut(&list, ' '), name))
			return true;
	}
	return false;
}

/* setns() is in no group, because the zygote may call it. */
static const char *why_not(const char *name)
{
	for (size_t i = 0; i < n_seccomp_groups; i++) {
		const struct seccomp_group *g = &seccomp_groups[i];

		if (g->verdict != SECCOMP_GIVEN && group_has(g, name))
			return g->why;
	}
	for (size_t i = 0; i < n_seccomp_arg_rules; i++) {
		const struct seccomp_arg_rule *a = &seccomp_arg_rules[i];

		if (strcmp(a->call, strcmp(name, "setns") == 0 ? "unshare" : name) == 0 && !a->quiet)
			return a->why;
	}
	return "not among the calls that programs are known to need";
}

const char *seccomp_explain(unsigned arch, int nr, char ret_name[SECCOMP_NAME_SIZE])
{
	bool foreign = arch != seccomp_arch_native() || (nr & X32_BIT);
	char *name = foreign ? NULL : seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);
	const char *why = foreign ? "calls of another kind of machine (32-bit, x32) end the program"
	    : name                ? why_not(name)
				  : "newer than what is known here";

	if (name)
		(void)str_copy(ret_name, SECCOMP_NAME_SIZE,
		    (struct str) { name, strnlen(name, SECCOMP_NAME_SIZE - 1) });
	else
		(void)snprintf(ret_name, SECCOMP_NAME_SIZE, "syscall %d", nr & ~X32_BIT);
	free(name);
	return why;
}
