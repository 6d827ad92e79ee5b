/* SPDX-License-Identifier: Apache-2.0 */
/* caps: what root of a sandbox may do, and keeping power across a change of uid. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* The last step before the sandbox's first program: all that is not on the list is gone, for good. */
int caps_confine(struct err *e);

/* Before a template's warm interpreter runs: what setns() into a sandbox below takes and nothing else. */
int caps_confine_zygote(struct err *e);

/* From now on a change of uid takes no capability away; those of set-up processes only. */
int caps_keep_across_uids(struct err *e);

/* Groups, then gid, then uid: all of them, and nothing else left behind. The process may be looked at as before. */
int caps_become(uid_t uid, gid_t gid, struct err *e);
