/* SPDX-License-Identifier: Apache-2.0 */
/* front: one link at a time. A front that breaks the protocol is killed, and another one is started. */
#include "warden/front.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/layout.h"
#include "warden/link.h"
#include "warden/notify.h"
#include "warden/ops.h"
#include "warden/service/service.h"
#include "warden/unit.h"
#include "warden/warden.h"

#define HELLO_MS 10000
#define LEAVE_MS 15000 /* for a front that has closed its link: it writes its state, then exits with its reason */
#define FRONT_TRIES 5  /* at the first start; a sixth attempt would fail as well */

/* Nothing that this front still sends is read. */
static void front_unlink(struct warden *w, const char *why)
{
	log_at(w->stopping ? LOG_LVL_DEBUG : LOG_LVL_ERROR, "dropping the front", "why=%s", why);
	link_free(take_ptr(&w->link));
	w->life++;
	timer_disarm(w->front_timer);
	units_disown(w);
}

/* Ends this front. The service starts the next one. */
static void front_drop(struct warden *w, const char *why)
{
	front_unlink(w, why);
	service_restart(w->front);
}

static void say_ready(struct warden *w)
{
	w->ready = true;
	if (w->tls_url[0])
		(void)printf("atoll: ready on %s and %s (E2B_DOMAIN=%s)\n", w->ready_url, w->tls_url, w->domain);
	else
		(void)printf("atoll: ready on %s\n", w->ready_url);
	(void)fflush(stdout);
	notify_ready(w->notify_fd);
}

static void on_packet(void *user, const void *p, size_t n, const int *fds, size_t n_fds)
{
	struct warden *w = user;
	enum msg_type type;
	/* Aligned, and as large as the largest message, because the handlers cast it to the struct of its type. */
	_Alignas(8) char msg[MSG_MAX];

	(void)fds;
	const char *why = proto_check(&w->proto, p, n, n_fds, &type);
	if (why) {
		front_drop(w, why);
		return;
	}
	memcpy(msg, p, n);
	ops_run(w, type, msg);
	if (type == OP_HELLO)
		timer_disarm(w->front_timer);
	if (type == OP_SERVES) {
		service_serves(w->front);
		if (!w->ready)
			say_ready(w);
	}
}

/* A front that has closed its link is ending: its exit code, which comes later, says why. It is killed only if it does
 * not end. An exit is seen here and at the pidfd; the second one finds nothing left to do. */
static void on_gone(void *user, const char *why)
{
	struct warden *w = user;
	bool leaves = link_closed(w->link);

	front_unlink(w, why);
	if (w->stopping) /* stop_timer ends it */
		return;
	if (leaves)
		timer_arm(w->front_timer, LEAVE_MS);
	else
		service_restart(w->front);
}

static const struct link_ops link_ops = { .on_packet = on_packet, .on_gone = on_gone };

static void on_up(void *user, int fd)
{
	struct warden *w = user;

	w->life++;
	w->proto = (struct proto) {
		.phase = PHASE_NEW,
		.maxima = config_limits(w->cfg.maxima),
		.templates = w->cfg.templates,
		.n_templates = w->cfg.n_templates,
	};
	w->link = link_new(w->loop, fd, &link_ops, w);
	timer_arm(w->front_timer, HELLO_MS);
	log_info("front started", "pid=%d", (int)service_pid(w->front));
	if (!w->link)
		service_restart(w->front);
}

/* Exit codes of a front that refuses its state. Another one would refuse it, too, so the server ends with the remedy;
 * sandboxes that run are left to the next one. */
static const struct refusal {
	int status;
	const char *what, *remedy;
} refusals[] = {
	{ EXIT_NO_USE, "was written by a newer atoll, see above", "start that one, or give another state directory" },
	{ EXIT_DAMAGED, "has a damaged 'front/atoll.db', see above",
	    "nothing in it was changed; restore a backup ('atoll restore'), or see 'The state is damaged' in "
	    "docs/troubleshooting.md" },
	{ EXIT_DAMAGED_INSIDE, "has a damaged 'front/atoll.db', see above",
	    "restore a backup ('atoll restore'), or see 'The state is damaged' in docs/troubleshooting.md" },
	{ EXIT_READ_ONLY, "has a 'front/atoll.db' that cannot be written to",
	    "nothing was changed; see that file, directory and file system are writable and belong to the server's "
	    "user, then start it again" },
};

static const struct refusal *find_refusal(const char *how)
{
	int status = 0;

	(void)sscanf(how, "exit %d", &status);
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		if (refusals[i].status == status)
			return &refusals[i];
	}
	return NULL;
}

static void on_down(void *user, const char *how)
{
	struct warden *w = user;
	const struct refusal *why = find_refusal(how);

	if (w->link)
		front_unlink(w, "ended");
	timer_disarm(w->front_timer);
	if (!w->ready)
		w->failed_fronts++;
	if (!w->stopping && (why || (!w->ready && w->failed_fronts >= FRONT_TRIES))) {
		log_error("the front does not start, exiting", "tries=%u last=%s", w->failed_fronts, how);
		if (why)
			(void)fprintf(stderr, "atolld: '%s' %s: %s\n", w->cfg.state, why->what, why->remedy);
		w->exit_code = 1;
		loop_stop(w->loop);
	}
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

static void on_front_late(void *user)
{
	struct warden *w = user;

	if (w->link)
		front_unlink(w, "no hello");
	service_restart(w->front);
}

static void fill_options(const struct warden *w, const char *state_dir, struct front_options *o)
{
	config_for_front(&w->cfg, o);
	(void)snprintf(o->state_dir, sizeof o->state_dir, "%s", state_dir);
	(void)snprintf(o->key_file, sizeof o->key_file, "%s/key", state_dir);
	(void)snprintf(o->domain, sizeof o->domain, "%s", w->domain);
	(void)snprintf(o->url, sizeof o->url, "%s", w->ready_url);
	o->domain_is_default = !w->cfg.domain[0] && !w->cfg.tls_listen[0];
	o->has_console = w->console_fd >= 0;
	for (; o->n_doors < w->n_doors; o->n_doors++)
		o->doors[o->n_doors] = w->doors[o->n_doors].kind;
}

int front_open(struct warden *w, int exe_fd, const char *exe, const char *state_dir, struct err *e)
{
	struct front_options options;
	struct service_spec spec = { .name = "atoll-front",
		.exe_fd = exe_fd,
		.exe = exe,
		.run = w->cfg.run,
		.options = &options,
		.options_size = sizeof options,
		.n_fds = w->n_doors,
		.delay_max_ms = w->cfg.restart_max_ms };

	_Static_assert(DOORS_MAX + 1 <= SERVICE_FDS, "a service takes all of them");
	if (w->cfg.console && layout_console(&w->cfg, &w->console_fd, e) < 0)
		return -e->no;
	fill_options(w, state_dir, &options);
	for (size_t i = 0; i < w->n_doors; i++)
		spec.fds[i] = w->doors[i].fd;
	if (w->console_fd >= 0)
		spec.fds[spec.n_fds++] = w->console_fd;
	if (user_find(w->cfg.user, &spec.uid, &spec.gid, e) < 0)
		return -e->no;
	w->front_timer = timer_new(w->loop, on_front_late, w);
	if (!w->front_timer)
		return err_set(e, ENOMEM, "start the front: out of memory");
	if (service_new(w->loop, &spec, &service_ops, w, &w->front, e) < 0)
		return -e->no;
	return service_start(w->front, e);
}

void front_close(struct warden *w)
{
	link_free(take_ptr(&w->link));
	service_free(take_ptr(&w->front));
	fd_close(take_fd(&w->console_fd));
	timer_free(take_ptr(&w->front_timer));
}
