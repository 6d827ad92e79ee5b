/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/request_id: ids that identify a request in logs and records. */
#pragma once

#include "ipc/msg.h"

struct http_req;

/* The client's X-Request-Id if it is well-formed, else a new one. */
void request_id(const struct http_req *rq, char ret[REQUEST_ID_SIZE]);
/* The client's X-Atoll-Session if it is well-formed, else "". */
void request_session(const struct http_req *rq, char ret[REQUEST_ID_SIZE]);
