/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the rlimits and priorities of sandboxes' processes; for oneself, before a program runs that is not ours. */
#pragma once

#include "base/err.h"

/* Before the user namespace is made: the limits of this moment bound all of the sandbox's users together. */
int limits_user(struct err *e);
