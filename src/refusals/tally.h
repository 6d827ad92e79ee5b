/* SPDX-License-Identifier: Apache-2.0 */
/* refusals/tally: aggregates records to events, few enough that a sandbox can do no harm with refused calls. No
 * I/O.
 *
 * Records are collected for TALLY_MS, counted from the first one. Those about the same sandbox, call and process
 * name become one event with a count. In that time a sandbox causes at most TALLY_EACH_MAX events, and one
 * AU_FLOOD when its records reach TALLY_FLOOD. Further calls and names are not counted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/refusals.h"
#include "refusals/record.h"

#define TALLY_MS 200
#define TALLY_RANGES 7 /* of uids, each of TALLY_RANGE slots: engine/slot.h */
#define TALLY_RANGE 2048u
#define TALLY_SLOTS (TALLY_RANGES * TALLY_RANGE)
#define TALLY_SLOT_UIDS 65536u
#define TALLY_EACH_MAX 4
#define TALLY_MAX 512
#define TALLY_FLOOD 100

struct tally {
	uint32_t n_uids, uids[TALLY_RANGES]; /* first uids of the ranges; a sandbox has TALLY_SLOT_UIDS of them */
	uint64_t since_ms;                   /* time of the first record; undefined if n == 0 */
	size_t n, n_taken;
	struct au_event pending[TALLY_MAX];
	struct {
		uint32_t records;
		uint32_t events;
	} slot[TALLY_SLOTS];
};

void tally_init(struct tally *t, const uint32_t *uids, uint32_t n_uids);

/* Adds a record. Returns the event that it starts, whose pid the caller may fill in; or NULL: it was counted, or
 * does not belong to a sandbox. */
struct au_event *refusals_tally_add(struct tally *t, const struct record *r, uint64_t now_ms);

/* Returns the next event to send; false: none, or too early. */
bool tally_take(struct tally *t, uint64_t now_ms, struct au_event *ret);

int tally_wait_ms(const struct tally *t, uint64_t now_ms); /* time until the next event; -1: none pending */
