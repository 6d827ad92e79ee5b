/* SPDX-License-Identifier: Apache-2.0 */
/* events: which processes were started and how they ended; GET /atoll/events, for the front only: one line of JSON for
 * each, the newest that are remembered at once, then each as it happens, for as long as the front listens.
 *
 * No arguments and no environment: these may hold secrets, and the log is kept where they should not go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

#define EVENTS_KEPT 128
#define EVENTS_LISTENERS 4 /* a new front may come before the old one's connection is gone */
#define EVENT_TEXT 48

struct http_req;
struct init;

enum event_kind { EVENT_STARTED, EVENT_ENDED, EVENT_NOTE };

struct event {
	uint64_t at_ms; /* wall clock */
	enum event_kind kind;
	pid_t pid;
	int status; /* of waitpid(), once ended */
	union {
		struct {
			char program[EVENT_TEXT], user[32]; /* cut to what fits */
			char request[65];                   /* correlation id of the request that started it */
		};
		char note[EVENT_TEXT + 32 + 65]; /* what init itself has to say, for the server's log */
	};
};

struct events { /* zeroed: none */
	struct event v[EVENTS_KEPT];
	size_t n;                                     /* of all that ever were */
	struct http_req *listeners[EVENTS_LISTENERS]; /* NULL: a free place */
};

void events_started(struct events *ev, pid_t pid, const char *program, const char *user, struct str request);
void events_ended(struct events *ev, pid_t pid, int status);
void events_note(struct events *ev, const char *text);
void events_get(struct init *in, struct http_req *rq);
