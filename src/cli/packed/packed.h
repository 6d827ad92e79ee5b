/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed: templates as files that other machines fetch: atoll template pack, atoll template fetch. */
#pragma once

#include "cli/cli.h"

extern const struct verb verb_template_pack, verb_template_fetch;

/* The templates that a server has of itself, NULL-terminated. */
extern const char *const packed_defaults[];
