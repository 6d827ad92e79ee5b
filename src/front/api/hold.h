/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/hold: delays the answers to wrong keys from addresses that have sent many of them. */
#pragma once

struct front;
struct http_req;
struct req;

#define PEER_TEXT_SIZE 48

/* Sends 401 with that message, perhaps delayed, and counts the wrong key for its address. */
void hold_wrong_key(struct req *r, const char *text);

/* The same for a signed URL whose signature matches no sandbox. Takes ownership of rq. */
void hold_wrong_signature(struct front *f, struct http_req *rq, const char *text);
/* The address of the client; rq: NULL if it has disconnected. */
void peer_text(const struct http_req *rq, char ret[PEER_TEXT_SIZE]);
void hold_end_all(struct front *f); /* when the front ends */
