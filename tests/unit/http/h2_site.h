/* SPDX-License-Identifier: Apache-2.0 */
/* A server with HTTP/2 and a client of nghttp2's at the two ends of a socketpair, for the units of http/h2. */
#pragma once

#include <stdint.h>

#include <nghttp2/nghttp2.h>

#include "http/conn.h"
#include "http/h2.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

#define ASKS 1200
#define BIG (4 << 20)

/* What the client knows of one of its requests. */
struct ask {
	int32_t id;
	int status, interim;
	struct buf head, body;
	bool closed;
	uint32_t code;     /* of the reset, if closed */
	struct str upload; /* what is left of it */
	bool no_end;       /* the upload never ends */
	bool stall;        /* windows are not opened */
};

struct site {
	struct loop *l;
	struct http_server *server;
	int fd;
	nghttp2_session *client;
	struct ask asks[ASKS];
	size_t n_asks;
	bool over; /* the server has closed */
	uint32_t goaway;
	bool said_goaway;

	/* the handler's side */
	struct http_req *held[ASKS];
	size_t n_held;
	struct buf seen, body;
	size_t left, most_queued;
	int closes, lost, drains;
};

/* What the answer to /big repeats. */
extern char block[65536];

/* What the socket takes of what the client has to say. */
void client_out(struct site *t);

/* The client sends, the loop runs one round, the client reads. */
void turn(struct site *t);
void turns(struct site *t, int n);

#define NV(n, v) { (uint8_t *)(n), (uint8_t *)(v), sizeof(n) - 1, strlen(v), NGHTTP2_NV_FLAG_NONE }

/* Sends a request with n_more further fields. upload: its body; no_end: which is never ended. */
struct ask *ask_with(struct site *t, const char *method, const char *path, const nghttp2_nv *more, size_t n_more,
    struct str upload, bool no_end);
struct ask *ask(struct site *t, const char *path);
void assert_answer(const struct ask *a, int status, const char *body);

int set_up(void **state);
int tear_down(void **state);

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
