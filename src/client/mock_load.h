/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock_load: finds libatoll-mock. */
#pragma once

#include "client/atoll.h"

struct mock_ops;

/* From the program, if it links the mock; else from the shared library, which is then loaded. -ENOENT: there is none.
 */
int mock_load(const struct mock_ops **ret, struct atoll_error *e);
