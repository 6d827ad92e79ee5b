/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/wrong_key: refuses a request with a wrong key. */
#pragma once

struct req;

/* Sends 401 with that message, perhaps delayed, and counts the wrong key for its address. */
void wrong_key(struct req *r, const char *text);
