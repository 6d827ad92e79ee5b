/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/saved: asks the warden to delete the saved state of a sandbox. */
#include "front/link/saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/util/mem.h"
#include "loop/loop.h"

#define AGAIN_MS 500

struct deletion {
	LIST_ENTRY(deletion) list;
	struct links *link;
	struct warden_call *asked; /* NULL: it waits for the timer */
	struct timer *timer;
	char name[ID_SIZE];
};

static void ask(void *user);

static void deletion_free(struct deletion *g)
{
	LIST_REMOVE(g, list);
	warden_cancel(g->asked);
	timer_free(g->timer);
	free(g);
}

static void on_answer(void *user, const struct warden_reply *re)
{
	struct deletion *g = user;

	g->asked = NULL;
	if (re->no == EAGAIN) {
		if (!g->timer)
			g->timer = timer_new(g->link->loop, ask, g);
		if (g->timer) {
			timer_arm(g->timer, AGAIN_MS);
			return;
		}
	}
	if (re->no) /* the next front finds that it has no owner and deletes it */
		log_warn("could not remove the saved state of a sandbox", "name=%s err=%s", g->name, re->text);
	deletion_free(g);
}

static void ask(void *user)
{
	struct deletion *g = user;
	struct msg_name m = { 0 };

	memcpy(m.name, g->name, sizeof m.name);
	g->asked = warden_ask(g->link->warden, OP_FORGET, &m, sizeof m, on_answer, g);
}

void saved_delete(struct links *l, const char *name)
{
	struct deletion *g = must_alloc(sizeof *g);

	g->link = l;
	(void)str_copy(g->name, sizeof g->name, str_of(name));
	LIST_INSERT_HEAD(&l->deletions, g, list);
	ask(g);
}

void saved_free(struct links *l)
{
	struct deletion *g;

	while ((g = LIST_FIRST(&l->deletions)))
		deletion_free(g);
}
