/* SPDX-License-Identifier: Apache-2.0 */
/* probe: checks that the kernel has what the engine needs. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Fails with the first thing that is missing and how to remedy it. */
int probe_kernel(bool no_storage, struct err *e);
