/* SPDX-License-Identifier: Apache-2.0 */
/* cli/progress: shows the progress of a build: one bar per upload or step on a terminal, plain lines elsewhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/atoll.h"

struct progress {
	bool tty, plain; /* plain: prints every log line as it arrives */
	unsigned cols;
	uint64_t began_ms, step_ms;
	unsigned done, total; /* steps */
	char label[256];      /* current activity; "" if none */
	char last[256];       /* the last line of its output */
	bool shown;           /* a bar is displayed below the last full line */
	uint64_t drawn_ms;
};

void progress_begin(struct progress *p, bool plain);
void progress_log(void *user, const struct atoll_build_log *l); /* an atoll_build_sink; user is the struct progress */
/* Reports bytes sent of an upload. */
void progress_part(struct progress *p, const char *what, uint64_t done, uint64_t total);
/* The same for any other amount: "fetching templates 1.0/20.5 MB". */
void progress_amount(struct progress *p, const char *doing, const char *what, uint64_t done, uint64_t total);
void progress_tick(struct progress *p); /* redraws the bar with the time elapsed */
void progress_end(struct progress *p);  /* erases the bar */
