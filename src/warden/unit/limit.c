/* SPDX-License-Identifier: Apache-2.0 */
/* limit: changes the limits of a running sandbox.
 *
 * A child does it, because the kernel may have to reclaim memory first and firewall changes are slow. The record
 * is written before: a warden that takes over goes by it. */
#include "warden/unit/limit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "warden/aside.h"
#include "warden/front_send.h"
#include "warden/records.h"
#include "warden/slots.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

struct change {
	struct warden *w;
	struct engine_record er; /* at the time of the request */
	struct engine_limits to;
	uint32_t seq;
	uint64_t life;
	int report[2]; /* carries a struct err on failure */
};

struct engine_limits limits_from_msg(const struct msg_limits *m)
{
	return (struct engine_limits) {
		.mem_bytes = m->mem_bytes,
		.disk_bytes = m->disk_bytes,
		.cpu_permille = m->cpu_permille,
		.pids = m->pids,
		.swap_bytes = m->swap_bytes,
		.io_bytes_s = m->io_bytes_s,
		.egress_bytes = m->egress_bytes,
		.egress_bytes_s = m->egress_bytes_s,
		.io_ops_s = m->io_ops_s,
		.open_files = m->open_files,
	};
}

struct msg_limits limits_to_msg(const struct engine_limits *l)
{
	return (struct msg_limits) {
		.mem_bytes = l->mem_bytes,
		.disk_bytes = l->disk_bytes,
		.cpu_permille = l->cpu_permille,
		.pids = l->pids,
		.swap_bytes = l->swap_bytes,
		.io_bytes_s = l->io_bytes_s,
		.egress_bytes = l->egress_bytes,
		.egress_bytes_s = l->egress_bytes_s,
		.io_ops_s = l->io_ops_s,
		.open_files = l->open_files,
	};
}

static void change_free(struct change *ch)
{
	fd_close(ch->report[0]);
	fd_close(ch->report[1]);
	free(ch);
}

static int note(struct unit *sb, const struct engine_limits *l, struct err *e)
{
	struct record rec = { .stage = RECORD_LIVE, .frozen = sb->frozen, .er = sb->er, .policy = sb->policy };

	rec.er.spec.limits = *l;
	return record_write(sb->w->records_dir, &rec, e);
}

static void in_child(void *arg)
{
	struct change *ch = arg;
	struct err e = ERR_INIT;

	if (ch->w->ops->limit(ch->w->engine, &ch->er, &ch->to, &e) >= 0)
		e = ERR_INIT; /* clears errors that were recovered from */
	(void)!write(ch->report[1], &e, sizeof e);
}

static void on_done(void *arg)
{
	struct change *ch = arg;
	struct unit *sb = unit_find(ch->w, ch->er.spec.id); /* its slot stays taken until this is done */
	struct err e = ERR_INIT, again = ERR_INIT;

	if (read(ch->report[0], &e, sizeof e) != (ssize_t)sizeof e)
		(void)err_set(&e, EPIPE, "the limits were not changed: a helper ended early");
	if (sb)
		sb->limiting = false;
	if (!sb || sb->state != UNIT_RUNNING) {
		if (sb && (ch->to.egress_bytes || ch->to.egress_bytes_s))
			sb->er.spec.limits = ch->to; /* so that the firewall's counters for it are removed */
		front_error(ch->w, ch->life, ch->seq, ENOENT, "the sandbox has ended");
		change_free(ch);
		return;
	}
	if (e.no == 0)
		sb->er.spec.limits = ch->to;
	/* Always: the sandbox may have been frozen, thawed or given another network meanwhile, which wrote the
	 * record with the old limits. */
	if (note(sb, &sb->er.spec.limits, &again) < 0)
		log_error("the record of a sandbox may not match its limits", "id=%s err=%s", sb->er.spec.id,
		    again.text);
	if (e.no == 0)
		front_ok(ch->w, ch->life, ch->seq);
	else
		front_error(ch->w, ch->life, ch->seq, e.no, e.text);
	change_free(ch);
}

/* The answer is sent when the new limits are in force, or when they failed and the old ones are. */
int unit_limit(struct unit *sb, uint32_t seq, const struct msg_limits *to, struct err *e)
{
	struct warden *w = sb->w;
	struct change *ch = calloc(1, sizeof *ch);

	if (!ch)
		return err_set(e, ENOMEM, "out of memory");
	*ch = (struct change) { .w = w,
		.er = sb->er,
		.to = limits_from_msg(to),
		.seq = seq,
		.life = w->life,
		.report = { -1, -1 } };
	ch->to.open_files = sb->er.spec.limits.open_files;
	if (sb->limiting) {
		change_free(ch);
		return err_set(e, EBUSY, "its limits are being changed already");
	}
	if (pipe2(ch->report, O_CLOEXEC | O_NONBLOCK) < 0) {
		(void)err_sys(e, "make a pipe");
		change_free(ch);
		return -e->no;
	}
	if (note(sb, &ch->to, e) < 0) {
		change_free(ch);
		return -e->no;
	}
	int r = aside_run(w->loop, in_child, on_done, ch);

	if (r < 0) {
		struct err ignored;

		(void)note(sb, &sb->er.spec.limits, &ignored);
		change_free(ch);
		return err_set(e, -r, "fork: %s", strerror(-r));
	}
	sb->limiting = true;
	return 0;
}
