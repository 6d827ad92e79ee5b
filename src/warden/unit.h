/* SPDX-License-Identifier: Apache-2.0 */
/* unit: the warden's object for one sandbox, from the request until nothing of the sandbox is left.
 *
 *	QUEUED ── builder free ──▶ BUILDING ── record on disk ──▶ RUNNING
 *	   │                          │ failed, stuck, unwanted      │ pid 1 ended
 *	   └── cancelled ──▶ (freed)  └────────▶ ENDING ◀────────────┘
 *	                                           └── all removed ──▶ EV_EXITED (freed)
 *
 * A unit keeps its slot until it is freed, so a new sandbox never meets the remains of an old one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipc/msg.h"
#include "warden/unit_state.h"

struct engine_usage;
struct record;
struct warden;

/* Takes a checked request, a slot and a place in the queue for a builder. -EEXIST, -EMFILE, -ENOMEM, -ESHUTDOWN. */
int unit_start(struct warden *w, const struct msg_start *m, struct err *e);
void unit_adopt(struct warden *w, const struct record *r); /* from an earlier warden; takes over its policy */
void unit_kill(struct unit *sb);
void unit_used(struct unit *sb, const struct engine_usage *us);

void units_kill_all(struct warden *w);
bool units_kill_running(struct warden *w); /* all except frozen ones; true: there are frozen ones */
void units_cancel_queue(struct warden *w);
void units_run_queue(struct warden *w); /* begins the starts that a builder is free for */
void units_disown(struct warden *w);    /* the front is gone: cancels the starts that it requested */
void units_free(struct warden *w);      /* memory and fds only */
