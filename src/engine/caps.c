/* SPDX-License-Identifier: Apache-2.0 */
/* caps: the capabilities of a sandbox's root, and how set-up processes keep capabilities across a change of uid. */
#include "engine/caps.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/caps_drop.h"
#include "engine/caps_kept.h"

static int confine_to(uint64_t keep, struct err *e)
{
	errno = -caps_drop(keep);
	return errno ? err_sys(e, "drop capabilities") : 0;
}

int caps_confine(struct err *e)
{
	return confine_to(CAPS_KEPT, e);
}

int caps_confine_zygote(struct err *e)
{
	return confine_to(CAPS_BIT(CAP_SYS_ADMIN), e);
}

int caps_keep_across_uids(struct err *e)
{
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
		return err_sys(e, "keep capabilities across uids");
	return 0;
}

int caps_become(uid_t uid, gid_t gid, struct err *e)
{
	if (setgroups(0, NULL) < 0)
		return err_sys(e, "drop groups");
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_sys(e, "become uid %u", uid);
	/* The change of uid has made us undumpable and our files in /proc root's, so the process that writes our
	 * uid_map could not open it. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return err_sys(e, "stay dumpable");
	return 0;
}
