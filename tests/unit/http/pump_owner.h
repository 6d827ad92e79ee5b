/* SPDX-License-Identifier: Apache-2.0 */
/* A pump with its owner and observers, for its units. The client and the upstream at its two ends are played by the
 * test over socketpairs. */
#pragma once

#include "http/call.h"
#include "http/pump.h"
#include "http/server.h"
#include "loop/share.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

#define MANY (16 << 20)

struct owner {
	struct loop *l;
	struct http_server *server;
	struct share share;
	struct pump pump;
	struct pump_ops ops;
	struct pump_observer watcher, second;
	bool busy;      /* a request is under way */
	bool patient;   /* it is sent on by hand, with send_up() */
	bool idle;      /* its first connection counts as one that was idle */
	bool no_second; /* reconnect() gives up */
	bool bad_answer;
	bool reads;        /* the observer wants all bytes */
	int client, up;    /* the far ends */
	struct buf asked;  /* what the upstream got on its connection of the moment */
	struct buf got;    /* what the client got */
	struct buf events; /* of the owner and of its observers, one word each */
	size_t seen_body, moved_body, seen_answer;
	int kept; /* the fd that on_end gave, or -1 */
	struct stream *tunnel[2];
	struct buf early[2];
};

/* Connects the upstream and passes the request on. */
void send_up(struct owner *t, bool reused);

/* Runs the loop until nothing moves any more. */
void settle(struct owner *t);
void client_says(struct owner *t, const char *bytes);
void up_says(struct owner *t, const char *bytes);
void up_leaves(struct owner *t);

bool has(struct buf *b, const char *text);
bool ends_with(struct buf *b, const char *text);

#define GET "GET /x HTTP/1.1\r\nHost: c\r\n\r\n"
#define OK(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"

int set_up(void **state);
int tear_down(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
