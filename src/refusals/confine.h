/* SPDX-License-Identifier: Apache-2.0 */
/* audit/confine: the last step before the first record is read: only what reading, counting and telling takes
 * is left. */
#pragma once

#include "base/err.h"

int refusals_confine(struct err *e);
