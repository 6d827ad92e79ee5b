/* SPDX-License-Identifier: Apache-2.0 */
/* cage: applies Landlock first, since the filter does not allow its system calls. */
#include "base/cage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/build.h"
#include "base/fd.h"

static int add_common(scmp_filter_ctx ctx)
{
	static const int mapping[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
	static const unsigned long questions[] = { FIONBIO, FIONREAD };
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
	    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(mapping); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, mapping[i], 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(questions); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, questions[i]));
	return r;
}

static int add_rules(const struct cage *c, scmp_filter_ctx ctx)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = add_common(ctx);
	for (size_t i = 0; r == 0 && i < c->n_calls; i++) {
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, c->calls[i], 0);
		if (r == -EDOM || r == -EFAULT) /* not a call of this architecture */
			r = 0;
	}
	return r == 0 && c->more ? c->more(ctx) : r;
}

static int load(scmp_filter_ctx ctx, int r, struct err *e)
{
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? err_set(e, -r, "install the system call filter: %s", strerror(-r)) : 0;
}

void cage_resolver_init(struct cage_resolver *r)
{
	r->paths[0] = r->paths[1] = (struct landlock_path) { "/etc", LANDLOCK_READ_FILES };
	if (!realpath("/etc/resolv.conf", r->real))
		return;
	*strrchr(r->real, '/') = '\0';
	if (r->real[0])
		r->paths[1].path = r->real;
}

int cage_refuse_rings(struct err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "give up new privileges");
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	return load(ctx, ctx ? seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_uring_setup), 0) : -ENOMEM, e);
}

int cage_close(const struct cage *c, struct err *e)
{
	if (build_is_sanitized)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "give up privileges");
	int r = landlock_confine(c->paths, c->n_paths, c->landlock_flags);

	if (r < 0 && r != -ENOSYS)
		return err_set(e, -r, "give up the file system: %s", strerror(-r));
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	return load(ctx, ctx ? add_rules(c, ctx) : -ENOMEM, e);
}
