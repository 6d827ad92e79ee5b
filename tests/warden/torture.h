/* SPDX-License-Identifier: Apache-2.0 */
/* A front that does what a taken-over one could do, see torture.c. */
#pragma once

#include <stdint.h>

#include "ipc/msg.h"

extern char notes[256];            /* the directory of notes */
extern struct msg_welcome welcome; /* what the warden answered to hello() */

/* Adds a line to the notes, which the driver reads. */
void note(const char *text);
/* Notes what is wrong, and waits for the end. */
__attribute__((noreturn)) void wrong(const char *what);

struct msg_head head(unsigned type);
void out(const void *p, size_t n, size_t n_fds);

/* The next message within a time; its type, 0 when there is none, -1 when the link is closed. The sockets to
 * atoll-egress and atoll-agent, which may come at any time, are not what these tests are about. */
int in(void *msg, int *fd);

void hello(void);
struct msg_start sound_start(const char *id);
struct msg_id about(unsigned type, const char *id);

/* One thing that must end a life; why is what the warden logs. */
struct step {
	const char *name, *why;
	void (*send)(void);
};
extern const struct step steps[];
extern const size_t n_steps;

/* The two lives after all steps: the first starts sandboxes, the second finds one of them again. */
__attribute__((noreturn)) void serve_first(void);
__attribute__((noreturn)) void serve_again(void);
