/* SPDX-License-Identifier: Apache-2.0 */
/* confine: the sandbox of atoll-egress itself: files read-only, no exec, only internet sockets. */
#pragma once

#include "base/err.h"

int egress_confine(struct err *e); /* call when everything is open */
