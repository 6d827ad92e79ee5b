/* SPDX-License-Identifier: Apache-2.0 */
/* agent/messages: a message, what it asks for, and the reply. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "agent/intent.h"
#include "agent/state.h"
#include "base/buf.h"

struct message { /* in progress */
	struct agent_request *v;
	struct atoll *a; /* NULL until it is needed */
	char owner[STATE_OWNER_SIZE];
	const char *agent_id, *user_id, *dir; /* agent_id NULL: the key's agent */
	struct atoll_session session;         /* id "": not needed so far */
	unsigned timeout_ms;
	bool dry_run;
	bool success;       /* of all parts so far */
	bool away;          /* the server could not be reached */
	json_t *executions; /* data.executionResults */
	json_t *data;
	struct buf reply;
};

/* The client; NULL: failed, see e. */
struct atoll *message_client(struct message *m, struct atoll_error *e);

/* The agent's session; created if it has none. */
int message_session(struct message *m, struct atoll_error *e);
int message_sandbox(struct message *m, struct atoll_sandbox **ret, struct atoll_error *e);

/* Reports a failure in the reply and in the data. */
void message_failed(struct message *m, const char *what, const struct atoll_error *e);
void message_say(struct message *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void message_do(struct message *m, const struct intent *i);   /* agent/message_acts.c */
void message_code(struct message *m, const struct intent *i); /* agent/message_code.c */
