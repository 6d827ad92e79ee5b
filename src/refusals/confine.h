/* SPDX-License-Identifier: Apache-2.0 */
/* refusals/confine: the last step before the first record is read: leaves only what is needed to read, count and
 * report. */
#pragma once

#include "base/err.h"

int refusals_confine(struct err *e);
