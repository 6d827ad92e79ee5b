/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/request_id: the words by which a request is found in logs and records. */
#pragma once

#include "ipc/msg.h"

struct http_req;

/* The client's own if it is harmless, else a new one. */
void request_id(const struct http_req *rq, char ret[REQUEST_ID_SIZE]);
/* What the client says that it belongs to (X-Atoll-Session), if that is harmless; else "". */
void request_session(const struct http_req *rq, char ret[REQUEST_ID_SIZE]);
