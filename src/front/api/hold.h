/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/hold: answers to wrong keys, given late when there were many of them. */
#pragma once

struct front;
struct http_req;
struct req;

#define PEER_TEXT_SIZE 48

/* Answers 401 with that text, sooner or later, and notes where the wrong key came from. */
void hold_wrong_key(struct req *r, const char *text);

/* Likewise for a signed URL that is signed by no sandbox. Takes over rq. */
void hold_wrong_signature(struct front *f, struct http_req *rq, const char *text);
/* the address of who sent it; rq: NULL if he has gone */
void peer_text(const struct http_req *rq, char ret[PEER_TEXT_SIZE]);
void hold_end_all(struct front *f); /* when the front ends */
