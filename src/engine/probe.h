/* SPDX-License-Identifier: Apache-2.0 */
/* probe: has this kernel what the engine needs? */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The first thing that is missing, with the remedy. */
int probe_kernel(bool no_storage, struct err *e);
