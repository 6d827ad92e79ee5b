/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2: HTTP/2 for a server (nghttp2): over TLS when both sides settle on it, in the clear for clients that know
 * beforehand.
 *
 * Each stream is a request as in http/server.h, with a body in pieces, an answer in pieces and back-pressure both ways;
 * handlers do not notice. What differs: http_abort() resets the one stream, http_close_after() gives up the rest of the
 * one body, and there is nothing to hijack (WebSockets use HTTP/1.1).
 *
 * Bounds: H2_STREAMS_MAX requests at a time per connection; heads as in HTTP/1.x. A client pays for frames that cost us
 * something and bring nothing (http/h2_guard.h); one that overdraws is told to calm down and its connection ends. A
 * body that nobody takes is held up to its window, 64 kB at first; it grows when it is taken, as long as all that grew
 * stays below H2_GRANTED_MAX. Answers that wait for windows are held like those of HTTP/1.x, until there are
 * H2_HELD_MAX of them: from then on nothing more is asked for on behalf of a stream that has anything waiting or a
 * closed window, and those that have not moved for H2_STALL_MS are reset. */
#pragma once

struct http_server;

#define H2_STREAMS_MAX 256
#define H2_HELD_MAX (16 * 1024 * 1024)
#define H2_GRANTED_MAX (32 * 1024 * 1024)
#define H2_STALL_MS 30000

void http_server_h2(struct http_server *s); /* from now on it speaks it */
