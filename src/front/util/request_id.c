/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/request_id: X-Request-Id and X-Atoll-Session. */
#include "front/util/request_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/rand.h"
#include "base/str.h"
#include "http/server.h"
#include "ipc/check.h"

static bool is_harmless(struct str id)
{
	char field[REQUEST_ID_SIZE] = "";

	return id.n > 0 && id.n <= REQUEST_ID_MAX && str_copy(field, sizeof field, id) && check_request(field);
}

void request_id(const struct http_req *rq, char ret[REQUEST_ID_SIZE])
{
	struct str given = http_header_get(&rq->headers, "x-request-id");

	memset(ret, 0, REQUEST_ID_SIZE); /* zeroed, because it is copied into messages as a whole */
	if (is_harmless(given)) {
		(void)str_copy(ret, REQUEST_ID_SIZE, given);
		return;
	}
	(void)snprintf(ret, REQUEST_ID_SIZE, "%016" PRIx64, rand_id());
}

void request_session(const struct http_req *rq, char ret[REQUEST_ID_SIZE])
{
	struct str given = http_header_get(&rq->headers, "x-atoll-session");

	memset(ret, 0, REQUEST_ID_SIZE);
	if (is_harmless(given))
		(void)str_copy(ret, REQUEST_ID_SIZE, given);
}
