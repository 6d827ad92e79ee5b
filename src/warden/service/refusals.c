/* SPDX-License-Identifier: Apache-2.0 */
/* refusals: the helper, and its reports. */
#include "warden/service/refusals.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/seccomp/seccomp.h"
#include "engine/slot.h"
#include "ipc/check.h"
#include "ipc/msg.h"
#include "ipc/refusals.h"
#include "warden/layout.h"
#include "warden/link.h"
#include "warden/service/refusals_rule.h"
#include "warden/service/service.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define LOG_EVERY_MS 10000 /* per sandbox */
#define SILENT_MS 60000    /* for a sandbox that floods; repeated if it goes on */

static int silence(struct warden *w, uint32_t k, bool silent)
{
	struct slot s;

	slot_fill(w->instance, k, &s);
	return refusals_rule_silence(s.root, s.root + SLOT_UIDS - 1, silent);
}

void refusals_listen(struct warden *w)
{
	struct err e = ERR_INIT;

	if (!w->cfg.explain_refusals)
		return;
	if (layout_program(w->cfg.libexec, "atoll-refusals", w->refusals.exe, sizeof w->refusals.exe,
		&w->refusals.exe_fd, &e) < 0 ||
	    refusals_socket(&w->refusals.fd, &e) < 0)
		log_warn("refused system calls are not recorded", "err=%s", e.text);
}

/* --- its reports ------------------------------------------------------------------------------------------- */

/* Returns the sandbox with that uid; NULL if it is unknown or gone. */
static struct unit *unit_of(const struct warden *w, uint32_t uid)
{
	uint32_t k = slot_of_uid(w->instance, uid);

	return k < SLOTS_MAX ? w->slots[k] : NULL;
}

static void tell_front(struct unit *sb, struct msg_refused *m)
{
	struct warden *w = sb->w;

	m->head = (struct msg_head) { MSG_VERSION, EV_REFUSED, 0 };
	memcpy(m->id, sb->er.spec.id, sizeof m->id);
	if (w->link && w->proto.phase == PHASE_SERVE)
		link_send(w->link, m, sizeof *m, -1);
}

static void on_denied(struct unit *sb, const struct au_event *ev)
{
	struct warden *w = sb->w;
	uint32_t k = sb->er.spec.slot;
	struct msg_refused m = { .pid = ev->pid, .count = ev->count };
	char name[SECCOMP_NAME_SIZE];
	const char *why = seccomp_explain(ev->arch, ev->nr, name);

	(void)str_copy(m.call, sizeof m.call, str_of(name));
	(void)str_copy(m.process, sizeof m.process, str_of(ev->comm));
	(void)str_copy(m.why, sizeof m.why, (struct str) { why, strnlen(why, sizeof m.why - 1) });
	/* one log line now and then; the front gets all reports */
	bool loud = clock_mono_ms() - w->refusals.logged_ms[k] >= LOG_EVERY_MS;

	if (loud)
		w->refusals.logged_ms[k] = clock_mono_ms();
	log_at(loud ? LOG_LVL_INFO : LOG_LVL_DEBUG, "system call refused", "id=%s call=%s process=%s pid=%u count=%u",
	    sb->er.spec.id, m.call, m.process, m.pid, m.count);
	tell_front(sb, &m);
}

static void on_flood(struct unit *sb)
{
	struct warden *w = sb->w;
	uint32_t k = sb->er.spec.slot;

	if (w->refusals.silent_until_ms[k])
		return;
	int r = silence(w, k, true);

	if (r < 0 && r != -EEXIST) {
		log_warn("a sandbox floods the kernel's audit system and cannot be silenced", "id=%s err=%s",
		    sb->er.spec.id, strerror(-r));
		return;
	}
	w->refusals.silent_until_ms[k] = clock_mono_ms() + SILENT_MS;
	log_warn("a sandbox floods the kernel's audit system: its refused calls are not recorded for a minute",
	    "id=%s s=%d", sb->er.spec.id, SILENT_MS / 1000);
	tell_front(sb, &(struct msg_refused) { .count = 0 });
}

static void on_packet(void *user, const void *p, size_t n, const int *fds, size_t n_fds)
{
	struct warden *w = user;
	struct au_event ev;

	(void)fds;
	memcpy(&ev, p, n < sizeof ev ? n : sizeof ev);
	if (n != sizeof ev || n_fds || ev.version != AU_VERSION || (ev.type != AU_DENIED && ev.type != AU_FLOOD) ||
	    !check_text(ev.comm, sizeof ev.comm)) {
		log_error("malformed message from atoll-refusals, restarting it", "bytes=%zu", n);
		service_restart(w->refusals.service);
		return;
	}
	struct unit *sb = unit_of(w, ev.uid);

	if (!sb || sb->state != UNIT_RUNNING)
		return;
	if (ev.type == AU_FLOOD)
		on_flood(sb);
	else if (!w->refusals
		     .silent_until_ms[sb->er.spec.slot]) /* otherwise a late report from before it was silenced */
		on_denied(sb, &ev);
}

static void on_gone(void *user, const char *why)
{
	struct warden *w = user;

	(void)why;
	link_free(take_ptr(&w->refusals.link));
	service_restart(w->refusals.service);
}

static const struct link_ops link_ops = { .on_packet = on_packet, .on_gone = on_gone };

/* --- start and end ----------------------------------------------------------------------------------------- */

static void on_up(void *user, int fd)
{
	struct warden *w = user;

	w->refusals.link = link_new(w->loop, fd, &link_ops, w);
	if (!w->refusals.link)
		service_restart(w->refusals.service);
}

static void on_down(void *user, const char *how)
{
	struct warden *w = user;

	(void)how;
	link_free(take_ptr(&w->refusals.link));
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

/* Of the home, the first 65536 uids belong to no sandbox. */
static void fill_ranges(const struct warden *w, struct refusals_options *o)
{
	struct id_map maps[SLOT_MAPS];

	_Static_assert(SLOT_MAPS == REFUSALS_RANGES_MAX, "each has its entry");
	o->n_uids = (uint32_t)slot_maps(w->instance, maps);
	for (uint32_t i = 0; i < o->n_uids; i++)
		o->uids[i] = maps[i].outside;
}

int refusals_open(struct warden *w, struct err *e)
{
	struct refusals_options options;
	struct service_spec spec = { .name = "atoll-refusals",
		.exe_fd = w->refusals.exe_fd,
		.exe = w->refusals.exe,
		.run = w->cfg.run,
		.options = &options,
		.options_size = sizeof options,
		.fds = { w->refusals.fd },
		.n_fds = 1,
		.delay_max_ms = w->cfg.restart_max_ms };

	if (w->refusals.fd < 0)
		return 0;
	config_for_refusals(&w->cfg, &options);
	fill_ranges(w, &options);
	if (user_find(w->cfg.egress_user, &spec.uid, &spec.gid, e) < 0)
		return -e->no;
	for (uint32_t i = 0; i < options.n_uids; i++) /* rules of an earlier warden that did not remove them */
		refusals_rule_forget(options.uids[i], options.uids[i] + SLOT_Z_UIDS - 1);
	if (service_new(w->loop, &spec, &service_ops, w, &w->refusals.service, e) < 0)
		return -e->no;
	return service_start(w->refusals.service, e);
}

void refusals_close(struct warden *w)
{
	for (uint32_t k = 0; k < SLOTS_MAX; k++)
		refusals_slot_free(w, k);
	link_free(take_ptr(&w->refusals.link));
	service_free(take_ptr(&w->refusals.service));
}

void refusals_blocked(struct warden *w)
{
	struct engine_refusal v[ENGINE_REFUSALS_MAX];
	int n = w->ops->refusals ? w->ops->refusals(w->engine, v, ARRAY_LEN(v)) : 0;

	if (n < 0 && !w->refusals.blocked_failed)
		log_warn("could not read the firewall's counters: refused connections are not recorded", "err=%s",
		    strerror(-n));
	w->refusals.blocked_failed = n < 0;
	for (int i = 0; i < n; i++) {
		const struct unit *sb = v[i].slot < SLOTS_MAX ? w->slots[v[i].slot] : NULL;
		struct msg_blocked m = { .head = { MSG_VERSION, EV_BLOCKED, 0 },
			.ip = v[i].ip,
			.port = v[i].port,
			.proto = v[i].proto };

		if (!sb || !w->link || w->proto.phase != PHASE_SERVE)
			continue;
		memcpy(m.id, sb->er.spec.id, sizeof m.id);
		link_send(w->link, &m, sizeof m, -1);
	}
}

void refusals_tick(struct warden *w)
{
	uint64_t now = clock_mono_ms();

	refusals_blocked(w);
	for (uint32_t k = 0; k < w->n_slots; k++) {
		if (w->refusals.silent_until_ms[k] && now >= w->refusals.silent_until_ms[k])
			refusals_slot_free(w, k);
	}
}

void refusals_slot_free(struct warden *w, uint32_t slot)
{
	if (!w->refusals.silent_until_ms[slot])
		return;
	w->refusals.silent_until_ms[slot] = 0;
	(void)silence(w, slot, false);
}
