/* SPDX-License-Identifier: Apache-2.0 */
/* events: a log of the processes that started and ended. GET /atoll/events, for the front only, streams it as one
 * line of JSON per event: first the events that are still remembered, then each new one, until the front
 * disconnects.
 *
 * Arguments and environment are left out, because they may hold secrets and the log is stored where secrets must
 * not go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

#define EVENTS_KEPT 128
#define EVENTS_LISTENERS 4 /* a new front may connect before the old one's connection is closed */
#define EVENT_TEXT 48

struct http_req;

enum event_kind { EVENT_STARTED, EVENT_ENDED, EVENT_NOTE };

struct event {
	uint64_t at_ms; /* wall clock */
	enum event_kind kind;
	pid_t pid;
	int status; /* of waitpid(); valid for EVENT_ENDED */
	union {
		struct {
			char program[EVENT_TEXT], user[32]; /* truncated to fit */
			char request[65];                   /* correlation id of the request that started it */
		};
		char note[EVENT_TEXT + 32 + 65]; /* a message of init itself, for the server's log */
	};
};

struct events { /* zeroed: empty */
	struct event v[EVENTS_KEPT];
	size_t n;                                     /* events recorded since the start */
	struct http_req *listeners[EVENTS_LISTENERS]; /* NULL: free entry */
};

void events_started(struct events *ev, pid_t pid, const char *program, const char *user, struct str request);
void events_ended(struct events *ev, pid_t pid, int status);
void events_note(struct events *ev, const char *text);
void events_get(struct events *ev, struct http_req *rq);
