/* SPDX-License-Identifier: Apache-2.0 */
/* front/hold: answers to wrong keys, given late when there were many of them. */
#pragma once

struct front;
struct req;

/* Answers 401 with that text, sooner or later, and notes where the wrong key came from. */
void hold_wrong_key(struct req *r, const char *text);
void hold_end_all(struct front *f);	/* when the front ends */
