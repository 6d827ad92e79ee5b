/* SPDX-License-Identifier: Apache-2.0 */
/* process_rpc: the process.Process calls. */
#pragma once

#include <jansson.h>

struct call;

void process_start(struct call *c, json_t *msg);
void process_connect(struct call *c, json_t *msg);
void process_list(struct call *c, json_t *msg);
void process_update(struct call *c, json_t *msg);
void process_send_input(struct call *c, json_t *msg);
void process_send_signal(struct call *c, json_t *msg);
void process_close_stdin(struct call *c, json_t *msg);

/* StreamInput: each message, and the end. */
void process_stream_input(struct call *c, json_t *msg);
void process_stream_input_end(struct call *c);
