/* SPDX-License-Identifier: Apache-2.0 */
/* audit/tally: what is told of the records that came, little enough that nobody can do harm by being refused.
 * No I/O.
 *
 * Records are gathered for TALLY_MS from the first one on. Those about the same sandbox, call and name are one
 * event with a count. Of one sandbox there are TALLY_EACH_MAX events in that time, and a word that it floods us
 * if there were more than TALLY_FLOOD records; what is above that is in nobody's count. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/refusals.h"
#include "refusals/record.h"

#define TALLY_MS 200
#define TALLY_SLOTS 2048 /* no instance has more sandboxes */
#define TALLY_SLOT_UIDS 65536u
#define TALLY_EACH_MAX 4
#define TALLY_MAX 512
#define TALLY_FLOOD 100

struct tally {
	uint32_t base;     /* uids of sandboxes begin here; each has TALLY_SLOT_UIDS of them */
	uint64_t since_ms; /* the first record; with n == 0: of no meaning */
	size_t n, n_taken;
	struct au_event pending[TALLY_MAX];
	struct {
		uint32_t records;
		uint32_t events;
	} slot[TALLY_SLOTS];
};

void tally_init(struct tally *t, uint32_t base);

/* A record came. The event that it begins, whose pid the caller may find out; or NULL: it was counted, or is
 * not of a sandbox. */
struct au_event *refusals_tally_add(struct tally *t, const struct record *r, uint64_t now_ms);

/* The next event to be sent; false: there is none, or it is too early. */
bool tally_take(struct tally *t, uint64_t now_ms, struct au_event *ret);

int tally_wait_ms(const struct tally *t, uint64_t now_ms); /* until there is one; -1: not before a record comes */
