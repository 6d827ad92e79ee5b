/* SPDX-License-Identifier: Apache-2.0 */
/* cli/progress: how far a build is: a bar per thing that is sent or done, on a terminal; plain lines elsewhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/atoll.h"

struct progress {
	bool tty, plain; /* plain: all that is logged, as it comes */
	unsigned cols;
	uint64_t began_ms, step_ms;
	unsigned done, total; /* steps */
	char label[256];      /* what is going on; "": nothing */
	char last[256];       /* the last line of its output */
	bool shown;           /* something stands below the last whole line */
	uint64_t drawn_ms;
};

void progress_begin(struct progress *p, bool plain);
void progress_log(void *user, const struct atoll_build_log *l); /* an atoll_build_sink; user: the progress */
/* bytes of something that is sent */
void progress_part(struct progress *p, const char *what, uint64_t done, uint64_t total);
void progress_tick(struct progress *p); /* time goes by */
void progress_end(struct progress *p);  /* what is not a whole line goes away */
