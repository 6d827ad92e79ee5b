/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2: an HTTP/2 server (nghttp2): over TLS if negotiated by ALPN, in plain text for clients with prior
 * knowledge.
 *
 * Each stream is a request as in http/server.h, with body and answer in pieces and back-pressure in both
 * directions. Handlers do not see a difference, except that http_abort() resets only the one stream,
 * http_close_after() discards the rest of only that body, and hijacking is not possible (WebSockets use HTTP/1.1).
 *
 * Limits: H2_STREAMS_MAX open requests per connection; heads as in HTTP/1.x. Frames that cost work without
 * progress are charged to the client (http/h2_guard.h); when its budget is exhausted, it gets ENHANCE_YOUR_CALM
 * and its connection ends. An unread body is buffered up to its window, 64 kB at first; the window grows when the
 * body is read, while all growth together is below H2_GRANTED_MAX. Answers that wait for windows are buffered as
 * in HTTP/1.x, until they total H2_HELD_MAX bytes: then no more data is accepted for streams that have anything
 * buffered or a closed window. Above half of that, streams without progress for H2_STALL_MS are reset. */
#pragma once

struct http_server;

#define H2_STREAMS_MAX 256
#define H2_HELD_MAX (16 * 1024 * 1024)
#define H2_GRANTED_MAX (32 * 1024 * 1024)
#define H2_STALL_MS 30000

void http_server_h2(struct http_server *s); /* enables HTTP/2 for new connections */
