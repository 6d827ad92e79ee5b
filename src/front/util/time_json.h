/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/time_json: wall clock times in the format of the API. */
#pragma once

#include <jansson.h>
#include <stdint.h>

json_t *time_json(uint64_t wall_ms);
json_t *time_or_null(uint64_t wall_ms); /* 0: null */
