/* SPDX-License-Identifier: Apache-2.0 */
/* confine: the resolver's own cage: no files but to read, no programs, no sockets but of the internet. */
#pragma once

#include "base/err.h"

int egress_confine(struct err *e); /* when everything is open */
