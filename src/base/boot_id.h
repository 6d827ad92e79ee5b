/* SPDX-License-Identifier: Apache-2.0 */
/* boot_id: identifies the current boot of the host. It is unique per boot and does not depend on any clock. */
#pragma once

#include "base/err.h"

#define BOOT_ID_SIZE 40

int boot_id_read(char ret[BOOT_ID_SIZE], struct err *e);
