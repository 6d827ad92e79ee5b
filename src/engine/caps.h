/* SPDX-License-Identifier: Apache-2.0 */
/* caps: the capabilities of a sandbox's root, and how set-up processes keep capabilities across a change of uid. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* The last step before the sandbox's first program: irrevocably drops every capability that caps_kept.h does not
 * list. */
int caps_confine(struct err *e);

/* Called before a template's zygote runs: keeps only what setns() into a sandbox below requires. */
int caps_confine_zygote(struct err *e);

/* From now on a change of uid drops no capability. For set-up processes only. */
int caps_keep_across_uids(struct err *e);

/* Sets the groups, then the gid, then the uid: real, effective and saved. The process stays dumpable. */
int caps_become(uid_t uid, gid_t gid, struct err *e);
