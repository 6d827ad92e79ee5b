/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/facts: what the records say about a sandbox. The sandbox floor fills them in (front/sandbox/facts.h);
 * they point into the sandbox and are valid as long as it is. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct msg_limits;

struct sandbox_facts {
	const char *id, *team;
	const char *key;     /* the API key that created it; "": none */
	const char *request; /* correlation id of the request that is changing it; "": none */
	const char *template_id, *template_name;
	const char *build; /* NULL or "": not known */
	const struct msg_limits *limits;
	const json_t *metadata, *env_vars; /* NULL: none */
	uint32_t timeout_s;
	uint64_t created_ms; /* wall clock */
	uint64_t started_us; /* wall clock; renewed at each resume */
	uint64_t stopped_ms; /* wall clock: end of its last run, while it is paused; else 0 */
};
