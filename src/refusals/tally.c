/* SPDX-License-Identifier: Apache-2.0 */
/* refusals/tally: collects, counts, and drops the excess. */
#include "refusals/tally.h"

#include <string.h>

void tally_init(struct tally *t, const uint32_t *uids, uint32_t n_uids)
{
	memset(t, 0, sizeof *t);
	t->n_uids = n_uids < TALLY_RANGES ? n_uids : TALLY_RANGES;
	memcpy(t->uids, uids, t->n_uids * sizeof *uids);
}

/* TALLY_SLOTS: of no sandbox. */
static uint32_t slot_of(const struct tally *t, uint32_t uid)
{
	for (uint32_t i = 0; i < t->n_uids; i++) {
		uint32_t within = (uid - t->uids[i]) / TALLY_SLOT_UIDS;

		if (uid >= t->uids[i] && within < TALLY_RANGE)
			return i * TALLY_RANGE + within;
	}
	return TALLY_SLOTS;
}

static void forget(struct tally *t)
{
	t->n = t->n_taken = 0;
	memset(t->slot, 0, sizeof t->slot);
}

static struct au_event *push(struct tally *t, enum au_type type, uint32_t uid, uint64_t now_ms)
{
	if (t->n == TALLY_MAX)
		return NULL;
	if (t->n == 0)
		t->since_ms = now_ms;
	struct au_event *ev = &t->pending[t->n++];

	*ev = (struct au_event) { .version = AU_VERSION, .type = (uint16_t)type, .uid = uid };
	return ev;
}

/* The uid may differ within the same sandbox. */
static struct au_event *find(struct tally *t, uint32_t slot, const struct record *r)
{
	for (size_t i = 0; i < t->n; i++) {
		struct au_event *ev = &t->pending[i];

		if (ev->type == AU_DENIED && slot_of(t, ev->uid) == slot && ev->nr == r->nr && ev->arch == r->arch &&
		    memcmp(ev->comm, r->comm, sizeof ev->comm) == 0)
			return ev;
	}
	return NULL;
}

struct au_event *refusals_tally_add(struct tally *t, const struct record *r, uint64_t now_ms)
{
	uint32_t slot = slot_of(t, r->uid);

	if (slot == TALLY_SLOTS)
		return NULL;
	if (++t->slot[slot].records == TALLY_FLOOD)
		(void)push(t, AU_FLOOD, r->uid, now_ms);
	struct au_event *ev = find(t, slot, r);

	if (ev) {
		ev->count++;
		return NULL;
	}
	if (t->slot[slot].events == TALLY_EACH_MAX || !(ev = push(t, AU_DENIED, r->uid, now_ms)))
		return NULL;
	t->slot[slot].events++;
	ev->arch = r->arch;
	ev->nr = r->nr;
	ev->count = 1;
	memcpy(ev->comm, r->comm, sizeof ev->comm);
	return ev;
}

bool tally_take(struct tally *t, uint64_t now_ms, struct au_event *ret)
{
	if (t->n == 0 || now_ms - t->since_ms < TALLY_MS)
		return false;
	*ret = t->pending[t->n_taken++];
	if (t->n_taken == t->n)
		forget(t);
	return true;
}

int tally_wait_ms(const struct tally *t, uint64_t now_ms)
{
	if (t->n == 0)
		return -1;
	return now_ms - t->since_ms < TALLY_MS ? (int)(TALLY_MS - (now_ms - t->since_ms)) : 0;
}
