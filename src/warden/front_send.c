/* SPDX-License-Identifier: Apache-2.0 */
/* front_send: answers and events to the front. */
#include "warden/front_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "warden/link.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

static void answer(struct warden *w, uint64_t life, const void *msg, size_t n)
{
	if (w->link && life == w->life)
		link_send(w->link, msg, n, -1);
}

void front_ok(struct warden *w, uint64_t life, uint32_t seq)
{
	struct msg_ok re = { .head = { MSG_VERSION, RE_OK, seq } };

	answer(w, life, &re, sizeof re);
}

void front_released(struct warden *w, uint64_t life, uint32_t seq)
{
	struct msg_ok re = { .head = { MSG_VERSION, RE_RELEASED, seq } };

	answer(w, life, &re, sizeof re);
}

void front_image(struct warden *w, uint64_t life, uint32_t seq, uint64_t bytes, uint64_t dump_us)
{
	struct msg_image re = { .head = { MSG_VERSION, RE_IMAGE, seq }, .bytes = bytes, .dump_us = dump_us };

	answer(w, life, &re, sizeof re);
}

void front_fd(struct warden *w, uint64_t life, uint32_t seq, int fd)
{
	struct msg_ok re = { .head = { MSG_VERSION, RE_OK, seq } };

	if (w->link && life == w->life)
		link_send(w->link, &re, sizeof re, fd);
	else
		fd_close(fd);
}

void front_error(struct warden *w, uint64_t life, uint32_t seq, int no, const char *text)
{
	struct msg_error re;

	memset(&re, 0, sizeof re);
	re.head = (struct msg_head) { MSG_VERSION, RE_ERROR, seq };
	re.no = no > 0 ? no : EIO;
	(void)snprintf(re.text, sizeof re.text, "%s", text);
	answer(w, life, &re, sizeof re);
}

void front_exited(struct warden *w, const struct unit *sb)
{
	struct msg_exited ev;

	memset(&ev, 0, sizeof ev);
	ev.head = (struct msg_head) { MSG_VERSION, EV_EXITED, 0 };
	memcpy(ev.id, sb->er.spec.id, sizeof ev.id);
	ev.reason = sb->reason;
	ev.cpu_ns = sb->last.cpu_ns;
	ev.sent_bytes = sb->last.sent_bytes;
	/* A front that has not sent its hello yet will ask for the list, which no longer has this sandbox. */
	if (w->proto.phase == PHASE_SERVE)
		answer(w, w->life, &ev, sizeof ev);
}

void front_oom(struct warden *w, const struct unit *sb)
{
	struct msg_oom ev;

	memset(&ev, 0, sizeof ev);
	ev.head = (struct msg_head) { MSG_VERSION, EV_OOM, 0 };
	memcpy(ev.id, sb->er.spec.id, sizeof ev.id);
	ev.kills = sb->oom.seen;
	if (w->proto.phase == PHASE_SERVE)
		answer(w, w->life, &ev, sizeof ev);
}

void front_set_log_level(struct warden *w)
{
	struct msg_level ev = { .head = { MSG_VERSION, EV_LOG_LEVEL, 0 }, .level = w->cfg.log_level };

	if (w->proto.phase == PHASE_SERVE)
		answer(w, w->life, &ev, sizeof ev);
}

void front_tls_files(struct warden *w)
{
	struct msg_ok ev = { .head = { MSG_VERSION, EV_TLS_FILES, 0 } };

	if (w->proto.phase == PHASE_SERVE)
		answer(w, w->life, &ev, sizeof ev);
}

void front_shutdown(struct warden *w)
{
	struct msg_shutdown ev = { .head = { MSG_VERSION, EV_SHUTDOWN, 0 }, .kills = w->cfg.on_stop == STOP_KILL };

	answer(w, w->life, &ev, sizeof ev);
}
