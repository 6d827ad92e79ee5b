/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/pause: from RUNNING to PAUSED and back, and what happens while a sandbox is paused. */
#pragma once

#include "base/err.h"
#include "front/link/box.h"
#include <stdbool.h>
#include <stdint.h>

struct sandbox;
struct sandboxes;

/* RUNNING only; ends in PAUSED, or in RUNNING with `fail` set */
void sandbox_pause(struct sandbox *sb, bool memory);
/* PAUSED only; ends in RUNNING, or in PAUSED with `fail` set */
void sandbox_resume(struct sandbox *sb, uint32_t timeout_s, bool memory);
void sandbox_run_on(struct sandbox *sb); /* thaws a PAUSING sandbox whose pause an earlier front did not finish */
/* 'atoll backup' uses this file in the front's directory to request that all memory that is only in RAM is written
 * to disk at once, and reads the progress from it. Each second: sandbox_hurry_look(), then sandbox_pause_tick()
 * for all, then sandbox_hurry_done(). */
#define SANDBOX_HURRY "write-memory"
int sandbox_hurry_open(struct sandboxes *all, struct err *e);
void sandbox_hurry_look(struct sandboxes *all);
void sandbox_hurry_done(struct sandboxes *all);
/* The server stops, and its sandboxes are killed: begins to write memory that is only in RAM. Returns true when
 * nothing is left to wait for. */
bool sandbox_write_memory(struct sandboxes *all);
/* once a second: writes the checkpoint of a paused sandbox when it is due */
void sandbox_pause_tick(struct sandbox *sb);

/* Kills the box of a sandbox that stays in its saved state */
void sandbox_reclaim(struct sandbox *sb);

/* Called when the box has exited while the sandbox was PAUSING, PAUSED or RESUMING. was: the state of the
 * box before. Returns true if the sandbox stays, because its saved state exists. */
bool sandbox_outlives(struct sandbox *sb, enum box_state was);
