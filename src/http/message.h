/* SPDX-License-Identifier: Apache-2.0 */
/* http/message: parses one HTTP/1.x message with llhttp: the head as a whole, then the body in pieces. No I/O and
 * no allocations: header strings point into the given head, pieces into the given bytes. Internal to http/, and to
 * egress/, which passes messages on. */
#pragma once

#include <llhttp.h>
#include <sys/types.h>

#include "http/server.h"

#define HTTP_FRAMING_MAX (16 * 1024) /* bytes between two body bytes: chunk sizes, extensions, trailers */

struct message {
	llhttp_t parser;
	struct http_headers *headers; /* being filled; NULL after the head */
	struct str target;            /* requests */
	struct str piece;
	int64_t content_length; /* -1: chunked, or until the end of the connection */
	int64_t left;           /* bytes of a body with a length that have not arrived yet */
	size_t framing;
	int refuse; /* status to answer with */
	const char *why;
	bool in_value, no_body, tunnel, done, keep_alive, chunked, upgrade;
};

enum message_step { MESSAGE_MORE, MESSAGE_PIECE, MESSAGE_END };

/* Length of the head including its empty line, 0: more bytes are needed, -EBADMSG (stray CR or LF, NUL, folded
 * line) or -E2BIG. *scanned, 0 at first, is where to continue when more bytes have arrived. */
ssize_t head_find(struct str in, size_t *scanned);

/* Parses a complete head. 0, or -EBADMSG with refuse and why set. done is set if no body follows. */
int message_request(struct message *m, struct str head, struct http_headers *h);

/* no_body: the request was HEAD; tunnel: it was CONNECT, so HTTP ends with any 2xx. */
int message_answer(struct message *m, struct str head, bool no_body, bool tunnel, struct http_headers *h);

/* Consumes bytes of *in until there is a piece, the end, or nothing left. Call it again after a piece, even with
 * an empty *in: the end may already be known. Negative values as for the head. */
int message_body(struct message *m, struct str *in, struct str *ret_piece);

/* As above, but small consecutive pieces in *in are joined in *held (owned by the caller, empty, with a limit of
 * MESSAGE_HELD_MAX): each piece has a fixed cost, and the peer chooses their size. */
#define MESSAGE_HELD_MAX (2 * 1024 * 1024)
int message_body_joined(struct message *m, struct str *in, struct buf *held, struct str *ret_piece);

/* n bytes of a body with a length have been consumed elsewhere; left says how many remain. */
void message_skip(struct message *m, size_t n);

bool message_eof(struct message *m); /* the connection ended: is the message complete? */
