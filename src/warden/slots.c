/* SPDX-License-Identifier: Apache-2.0 */
/* slots: the table of all sandboxes, and which slot the next one gets. */
#include "warden/slots.h"

#include <errno.h>
#include <string.h>

#include "warden/pairs.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

/* FNV-1a. The front chooses the ids, and hurts only itself with bad ones. */
static struct unit_list *bucket_of(struct warden *w, const char *id)
{
	uint32_t h = 2166136261u;

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 16777619u;
	return &w->by_id[h % UNIT_BUCKETS];
}

struct unit *unit_find(struct warden *w, const char *id)
{
	struct unit *sb;

	LIST_FOREACH(sb, bucket_of(w, id), same)
	{
		if (strcmp(sb->er.spec.id, id) == 0)
			return sb;
	}
	return NULL;
}

void slot_give(struct warden *w, struct unit *sb)
{
	w->slots[sb->er.spec.slot] = sb;
	LIST_INSERT_HEAD(&w->units, sb, all);
	LIST_INSERT_HEAD(bucket_of(w, sb->er.spec.id), sb, same);
	w->n_sandboxes++;
}

void slot_clear(struct unit *sb)
{
	sb->w->slots[sb->er.spec.slot] = NULL;
	LIST_REMOVE(sb, all);
	LIST_REMOVE(sb, same);
	sb->w->n_sandboxes--;
}

/* There are more slots than sandboxes are allowed: one that is ending, or was killed, still holds its slot, but a start
 * does not have to wait for it. */
static bool is_full(const struct warden *w)
{
	const struct unit *sb;
	uint32_t live = 0;

	if (w->n_sandboxes < w->cfg.max_sandboxes)
		return false;
	LIST_FOREACH(sb, &w->units, all)
	live += sb->state != UNIT_ENDING && !sb->reason && !sb->unwanted;
	return live >= w->cfg.max_sandboxes;
}

/* A slot that nothing uses, or n_slots. Slots are used in turn, so that the kernel has time to clean up after one that
 * was just freed (links take a while). */
static uint32_t slot_free(const struct warden *w)
{
	for (uint32_t i = 0; i < w->n_slots; i++) {
		uint32_t slot = (w->next_slot + i) % w->n_slots;

		if (!w->slots[slot] && !pairs_has(w->pairs, slot) && !pairs_makes(w->pairs, slot))
			return slot;
	}
	return w->n_slots;
}

/* The one slot for which a network is being prepared, if no unit has it yet; or n_slots. */
static uint32_t slot_in_making(const struct warden *w)
{
	for (uint32_t slot = 0; slot < w->n_slots; slot++) {
		if (!w->slots[slot] && pairs_makes(w->pairs, slot))
			return slot;
	}
	return w->n_slots;
}

/* A slot that a builder can use at once, or n_slots. */
static uint32_t slot_at_once(struct warden *w)
{
	uint32_t slot = slot_free(w);

	if (slot == w->n_slots)
		(void)pairs_give_way(w->pairs, &slot);
	return slot;
}

bool slot_change(struct warden *w, struct unit *sb, void (*leave)(struct unit *sb))
{
	uint32_t slot = slot_at_once(w);

	if (slot == w->n_slots)
		return false;
	leave(sb);
	w->next_slot = (slot + 1) % w->n_slots;
	w->slots[sb->er.spec.slot] = NULL;
	w->slots[slot] = sb;
	sb->er.spec.slot = slot;
	return true;
}

int slot_take(struct warden *w, const char *pair_of, uint32_t *ret, struct engine_pair *ret_pair)
{
	if (is_full(w))
		return -EMFILE;
	if (pair_of && pairs_take(w->pairs, pair_of, ret, ret_pair))
		return 0;
	uint32_t slot = slot_at_once(w);

	if (slot == w->n_slots)
		slot = slot_in_making(w);
	if (slot == w->n_slots)
		return -EMFILE;
	w->next_slot = (slot + 1) % w->n_slots;
	*ret = slot;
	return 0;
}
