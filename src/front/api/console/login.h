/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/console/login: what the handlers of the console share. */
#pragma once

#include <stdbool.h>

#include "front/console/sessions.h"

struct req;

/* Whether the request comes from a page of the console, or from a program that says so. Otherwise sends an answer. */
bool console_is_asked(struct req *r);

/* Begins the session, and answers with it and its cookie. Ends the browser's earlier one. */
void console_begin(struct req *r, const struct session_who *who);

/* "https://HOST" as the browser sees this server. false: sent 400. */
struct buf;
bool console_put_origin(struct req *r, struct buf *out);
