/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/serve: the pages and files of the console, without authentication: they hold nothing secret. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct console;
struct http_req;

/* Whether the path is one of the console's files: /console and what is below it, except its API. */
bool console_is(const struct http_req *rq);
void console_serve(struct console *c, struct http_req *rq);

/* Appends the host name, with port, below which browsers find PORT-ID for the ports of sandboxes. Nothing if there is
 * none: the server has no domain and was reached by an address of another machine. */
void console_port_domain(const struct console *c, const struct http_req *rq, struct buf *out);
