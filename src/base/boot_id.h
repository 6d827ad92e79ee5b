/* SPDX-License-Identifier: Apache-2.0 */
/* boot_id: which start of the host this is. No two have the same, and no step of a clock changes it. */
#pragma once

#include "base/err.h"

#define BOOT_ID_SIZE 40

int boot_id_read(char ret[BOOT_ID_SIZE], struct err *e);
