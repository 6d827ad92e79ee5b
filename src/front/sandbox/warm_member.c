/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_member: starts a box, sends the default settings and waits for the interpreters. */
#include "front/sandbox/warm_member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "front/link/links.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/settle.h"
#include "front/sandbox/table.h"
#include "front/sandbox/template.h"
#include "front/util/mem.h"
#include "loop/loop.h"

#define INTERPRETERS_WAIT_MS 70000 /* init gives up on an interpreter after a minute */

static void member_failed(struct member *m, const char *what, const struct box_result *re)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, re->no, "%s: %s", what, re->text);
	m->fn(m, &e);
}

/* If the use is not known, it counts as 0. */
static void on_usage(void *user, const struct box_result *re)
{
	struct member *m = user;

	if (re->usage) {
		m->cpu_ns = re->usage->cpu_ns;
		m->mem_bytes = re->usage->mem_bytes;
	}
	m->ready = true;
	m->fn(m, NULL);
}

static void on_settled(void *user, const struct box_result *re)
{
	static const char *const parts[] = {
		[BOX_PART_SETTINGS] = "hand over its settings",
		[BOX_PART_START_CMD] = "run its start command",
		[BOX_PART_INTERPRETERS] = "wait for its interpreters",
	};
	struct member *m = user;

	if (re->no) {
		member_failed(m, parts[re->part], re);
		return;
	}
	if (re->fd >= 0)
		upstream_put_fd(&m->conn, re->fd, loop_now_ms(m->all->link->loop));
	box_usage(&m->box, on_usage, m);
}

static void on_started(void *user, const struct box_result *re)
{
	struct member *m = user;
	const struct box_settings s = {
		.template_id = m->tpl->id,
		.text_from_stdout = m->all->link->opt.text_from_stdout,
		.fd = -1,
		.wait_ms = SANDBOX_SETTLE_MS,
		.start_wait_s = m->run_start ? sandbox_start_wait_s(m->all) : 0,
		.interps_ms = INTERPRETERS_WAIT_MS,
	};

	if (re->no)
		member_failed(m, "start", re);
	else
		box_settle(&m->box, &s, "", on_settled, m);
}

struct member *member_new(struct sandboxes *all, const struct template *tpl, const struct member_start *start,
    member_fn *fn, void *owner)
{
	struct member *m = must_alloc(sizeof *m);
	uint32_t from = !start->from[0] ? 0 : start->restore ? START_RESTORE : START_KEPT;
	const struct box_start s = {
		.template_key = tpl->key,
		.flags = START_PATIENT | from,
		.from = start->from,
		.limits = start->limits,
	};
	char id[ID_SIZE];

	m->all = all;
	m->tpl = tpl;
	m->fn = fn;
	m->run_start = start->run_start;
	m->owner = owner;
	sandbox_table_make_id(all->table, id);
	box_init(&m->box, all->link, id);
	box_start(&m->box, &s, "", on_started, m);
	return m;
}

void member_free(struct member *m)
{
	box_done(&m->box);
	upstream_close_all(&m->conn);
	free(m);
}

static void on_killed(void *user, const struct box_result *re)
{
	struct member *m = user;
	struct sandboxes *all = m->all;

	(void)re;
	member_free(m);
	links_request_over(all->link);
}

void member_kill(struct member *m, bool wait)
{
	box_done(&m->box); /* cancels the callbacks of the steps in progress */
	if (wait && box_present(&m->box)) {
		m->all->link->requests++;
		box_kill(&m->box, "", on_killed, m);
		return;
	}
	if (box_present(&m->box)) /* this also cancels a start in progress */
		box_kill(&m->box, "", NULL, NULL);
	member_free(m);
}
