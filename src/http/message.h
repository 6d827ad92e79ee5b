/* SPDX-License-Identifier: Apache-2.0 */
/* http/message: one HTTP/1.x message as llhttp reads it: the head whole, then the body in pieces. No I/O, no memory
 * of its own: header strings point into the head that was given, pieces into the bytes that were given.
 * Internal to http/, and to egress/, which passes messages on. */
#pragma once

#include <llhttp.h>
#include <sys/types.h>

#include "http/server.h"

#define HTTP_FRAMING_MAX (16 * 1024) /* bytes between two body bytes: chunk sizes, extensions, trailers */

struct message {
	llhttp_t parser;
	struct http_headers *headers; /* being filled; NULL behind the head */
	struct str target;            /* requests */
	struct str piece;
	int64_t content_length; /* -1: chunked, or until the end of the connection */
	int64_t left;           /* of a body with a length: what has not come yet */
	size_t framing;
	int refuse; /* status that tells the peer why */
	const char *why;
	bool in_value, no_body, tunnel, done, keep_alive, chunked, upgrade;
};

enum message_step { MESSAGE_MORE, MESSAGE_PIECE, MESSAGE_END };

/* Length of the head with its empty line, 0 for "more bytes", -EBADMSG (stray CR or LF, NUL, folded line) or -E2BIG.
 * *scanned, at first 0, remembers where to go on when more bytes have come. */
ssize_t head_find(struct str in, size_t *scanned);

/* Reads a complete head. 0, or -EBADMSG with refuse and why set. done is set if no body follows. */
int message_request(struct message *m, struct str head, struct http_headers *h);

/* no_body: the request was HEAD; tunnel: it was CONNECT, so any 2xx is the end of HTTP here. */
int message_answer(struct message *m, struct str head, bool no_body, bool tunnel, struct http_headers *h);

/* Takes bytes from *in until there is a piece, the end, or nothing left. Call again after a piece, even with an
 * empty *in: the end may already be known. A negative value as for the head. */
int message_body(struct message *m, struct str *in, struct str *ret_piece);

/* The same, but small pieces that lie behind each other in *in come as one, put together in *held (of the caller,
 * empty, with a ceiling of MESSAGE_HELD_MAX): what is done for each piece has a price, and the peer decides how small
 * they are. */
#define MESSAGE_HELD_MAX (2 * 1024 * 1024)
int message_body_joined(struct message *m, struct str *in, struct buf *held, struct str *ret_piece);

/* So many bytes of a body with a length (left tells how many there are) have been taken elsewhere. */
void message_skip(struct message *m, size_t n);

bool message_eof(struct message *m); /* the connection ended: is the message complete? */
