/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/time_json: RFC 3339. */
#include "front/util/time_json.h"

#include "base/clock.h"

json_t *time_json(uint64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(wall_ms, text);
	return json_string(text);
}

json_t *time_or_null(uint64_t wall_ms)
{
	return wall_ms ? time_json(wall_ms) : json_null();
}
