/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the rlimits and priorities of sandboxes' processes; for oneself, before a program runs that is not ours. */
#pragma once

#include "base/err.h"

/* Before the user namespace is made: the limits of this moment bound all of the sandbox's users together. */
int limits_user(struct err *e);

int limits_process(struct err *e);

/* What the daemon may have for itself to survive and to be quick is not for its sandboxes. */
int limits_ordinary(struct err *e);
