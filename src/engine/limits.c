/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the rlimits and priorities of sandboxes' processes. */
#include "engine/limits.h"

#include <sys/resource.h>

#include "base/fd.h"

int limits_user(struct err *e)
{
	static const struct { int what; rlim_t max; } set[] = {
		{ RLIMIT_SIGPENDING, 16384 },
		{ RLIMIT_MSGQUEUE, 1 << 20 },
		{ RLIMIT_MEMLOCK, 64 << 20 },
	};

	for (size_t i = 0; i < ARRAY_LEN(set); i++) {
		struct rlimit l;

		if (getrlimit(set[i].what, &l) < 0)
			return err_sys(e, "read limit %d", set[i].what);
		if (l.rlim_max > set[i].max)
			l.rlim_max = set[i].max;
		if (l.rlim_cur > l.rlim_max)
			l.rlim_cur = l.rlim_max;
		if (setrlimit(set[i].what, &l) < 0)
			return err_sys(e, "set limit %d", set[i].what);
	}
	return 0;
}
