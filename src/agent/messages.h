/* SPDX-License-Identifier: Apache-2.0 */
/* agent/messages: a message, what it asks for, and what was done about it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "agent/intent.h"
#include "agent/state.h"
#include "base/buf.h"

struct message { /* under way */
	struct agent_request *v;
	struct atoll *a; /* NULL until it is needed */
	char owner[STATE_OWNER_SIZE];
	const char *agent_id, *user_id, *dir; /* agent_id NULL: that of the key */
	struct atoll_session session;         /* id "": none was needed yet */
	unsigned timeout_ms;
	bool dry_run;
	bool success;       /* of all so far */
	bool away;          /* the server could not be reached */
	json_t *executions; /* data.executionResults */
	json_t *data;
	struct buf reply;
};

/* The client; NULL: e tells. */
struct atoll *message_client(struct message *m, struct atoll_error *e);

/* The session of the agent, made if it has none. */
int message_session(struct message *m, struct atoll_error *e);
int message_sandbox(struct message *m, struct atoll_sandbox **ret, struct atoll_error *e);

/* Says what went wrong, and notes it. */
void message_failed(struct message *m, const char *what, const struct atoll_error *e);
void message_say(struct message *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void message_do(struct message *m, const struct intent *i);   /* agent/message_acts.c */
void message_code(struct message *m, const struct intent *i); /* agent/message_code.c */
