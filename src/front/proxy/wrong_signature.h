/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/wrong_signature: refuses a signed URL whose signature matches no sandbox. */
#pragma once

struct proxies;
struct http_req;

/* Sends 401 with that message, perhaps delayed, and counts it as a wrong key of its address. Takes ownership of rq. */
void wrong_signature(struct proxies *p, struct http_req *rq, const char *text);
