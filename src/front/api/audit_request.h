/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/audit_request: which requests of the control API are recorded in the audit trail, and as what. */
#pragma once

struct req;

/* Called before an answer with r->status is sent, for requests that change something. */
void audit_request(struct req *r);
void audit_auth_failed(struct req *r, const char *why); /* the key is wrong, missing or not sufficient */
void audit_rate(struct req *r);                         /* refused: rate limit */
