/* SPDX-License-Identifier: Apache-2.0 */
/* caps_drop: irrevocably drops all capabilities except some.
 *
 * This is a header because it also runs inside a template's interpreter (join_lib), which loads nothing of ours
 * but one small library. */
#pragma once

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns 0 or -errno. Afterwards a change of uid has its usual effect on capabilities. */
static inline int caps_drop(uint64_t keep)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
	};

	/* EINVAL beyond the last capability that this kernel knows ends the loop. */
	for (int c = 0; c < 64; c++) {
		if (keep & 1ull << c)
			continue;
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0) {
			if (errno == EINVAL && c > CAP_SETFCAP)
				break;
			return -errno;
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &h, d) < 0 ? -errno : 0;
}
