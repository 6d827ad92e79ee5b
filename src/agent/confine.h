/* SPDX-License-Identifier: Apache-2.0 */
/* agent/confine: the cage of atoll-agent. Nothing can be executed in it, and no process made; of the network there is
 * what the front hands over; of the file system one folder. */
#pragma once

#include "base/err.h"

int agent_confine(const char *state_dir, struct err *e);
