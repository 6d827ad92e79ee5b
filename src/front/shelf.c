/* SPDX-License-Identifier: Apache-2.0 */
/* front/shelf: a ring of places, the oldest given up first. */
#include "front/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "front/mem.h"

struct place {
	char id[ID_SIZE];		/* "": free */
	char team[TEAM_ID_SIZE];
	uint64_t since_ms;
	struct journal journal;
};

struct shelf {
	struct place v[SHELF_MAX];
	size_t next;
};

struct shelf *shelf_new(void)
{
	return must_alloc(sizeof(struct shelf));
}

static void clear(struct place *p)
{
	journal_done(&p->journal);
	*p = (struct place) { 0 };
}

void shelf_free(struct shelf *s)
{
	for (size_t i = 0; s && i < SHELF_MAX; i++)
		clear(&s->v[i]);
	free(s);
}

void shelf_put(struct shelf *s, const char *id, const char *team, struct journal *j, uint64_t now_ms)
{
	struct place *p = &s->v[s->next];

	clear(p);
	(void)str_copy(p->id, sizeof p->id, str_of(id));
	(void)str_copy(p->team, sizeof p->team, str_of(team));
	p->since_ms = now_ms;
	p->journal = *j;
	*j = (struct journal) { 0 };
	s->next = (s->next + 1) % SHELF_MAX;
}

const struct journal *shelf_find(const struct shelf *s, struct str id, const char *team)
{
	for (size_t i = 0; i < SHELF_MAX; i++) {
		const struct place *p = &s->v[i];

		if (p->id[0] && str_is(id, p->id) && strcmp(p->team, team) == 0)
			return &p->journal;
	}
	return NULL;
}

void shelf_tidy(struct shelf *s, uint64_t now_ms)
{
	for (size_t i = 0; i < SHELF_MAX; i++) {
		if (s->v[i].id[0] && now_ms - s->v[i].since_ms > SHELF_MS)
			clear(&s->v[i]);
	}
}
