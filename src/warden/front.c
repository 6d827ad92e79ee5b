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
#include "warden/ops.h"
#include "warden/service/service.h"
#include "warden/unit.h"
#include "warden/warden.h"

#define HELLO_MS 10000
#define FRONT_ARGS 128
#define FRONT_NUMBERS 48
#define FRONT_TRIES 5 /* at the first start; a sixth attempt would fail as well */

static const char *const audit_word[] = { [AUDIT_OFF] = "off", [AUDIT_ON] = "on", [AUDIT_REQUIRED] = "required" };
static const char *const token_word[] = { [TOKEN_NONE] = "none", [TOKEN_EXECUTE] = "execute", [TOKEN_ALL] = "all" };
static const char *const level_word[] = { "debug", "info", "warn", "error" };

/* Nothing that this front still sends is read. */
static void front_unlink(struct warden *w, const char *why)
{
	log_at(w->stopping ? LOG_LVL_DEBUG : LOG_LVL_ERROR, "dropping the front", "why=%s", why);
	link_free(take_ptr(&w->link));
	w->life++;
	timer_disarm(w->hello_timer);
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
	if (type == OP_HELLO) {
		timer_disarm(w->hello_timer);
		service_serves(w->front);
		if (!w->ready)
			say_ready(w);
	}
}

static void on_gone(void *user, const char *why)
{
	struct warden *w = user;

	/* An exit is seen here and at the pidfd; the second one finds nothing left to do. A front that is
	 * stopping has closed its end and is writing its state: it exits by itself or runs into the timeout. */
	if (w->stopping)
		front_unlink(w, why);
	else
		front_drop(w, why);
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
	timer_arm(w->hello_timer, HELLO_MS);
	log_info("front started", "pid=%d", (int)service_pid(w->front));
	if (!w->link)
		service_restart(w->front);
}

/* Exit codes of a front for which a restart is useless, and the remedy. */
static const struct {
	int status;
	const char *what, *remedy;
} no_use[] = {
	{ EXIT_NO_USE, "was written by a newer atoll, see above", "start that one, or give another state directory" },
	{ EXIT_DAMAGED, "has a damaged 'front/atoll.db', see above",
	    "nothing in it was changed; restore a backup ('atoll restore'), or see 'The state is damaged' in "
	    "docs/troubleshooting.md" },
	{ EXIT_READ_ONLY, "has a 'front/atoll.db' that cannot be written to",
	    "nothing was changed; see that file, directory and file system are writable and belong to the server's "
	    "user, then start it again" },
};

static void on_down(void *user, const char *how)
{
	struct warden *w = user;
	size_t why = 0;
	int status = 0;

	if (w->link)
		front_drop(w, "ended");
	(void)sscanf(how, "exit %d", &status);
	while (why < ARRAY_LEN(no_use) && no_use[why].status != status)
		why++;
	bool known = why < ARRAY_LEN(no_use);

	if (!w->ready && !w->stopping && (++w->failed_fronts >= FRONT_TRIES || known)) {
		log_error("the front does not start, exiting", "tries=%u last=%s", w->failed_fronts, how);
		if (known)
			(void)fprintf(stderr, "atolld: '%s' %s: %s\n", w->cfg.state, no_use[why].what,
			    no_use[why].remedy);
		w->exit_code = 1;
		loop_stop(w->loop);
	}
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

static void on_no_hello(void *user)
{
	struct warden *w = user;

	if (w->link)
		front_drop(w, "no hello");
}

/* The arguments of the front. They live as long as the service, of which there is one per process. */
struct front_words {
	const char *argv[FRONT_ARGS];
	size_t n;
	char numbers[FRONT_NUMBERS][24], key[PATH_MAX + 8];
	size_t n_numbers;
};

static void words_add(struct front_words *f, const char *option, const char *value)
{
	f->argv[f->n++] = option;
	if (value)
		f->argv[f->n++] = value;
}

static void words_add_number(struct front_words *f, const char *option, uint64_t value)
{
	char *text = f->numbers[f->n_numbers++];

	(void)snprintf(text, sizeof f->numbers[0], "%llu", (unsigned long long)value);
	words_add(f, option, text);
}

static void words_add_numbers(struct front_words *f, const struct config *cfg)
{
	const struct {
		const char *option;
		uint64_t value;
	} numbers[] = {
		{ "--max-timeout", cfg->max_timeout_s },
		{ "--head-timeout", cfg->head_timeout_s },
		{ "--body-timeout", cfg->body_timeout_s },
		{ "--logs-kept", cfg->logs_kept_s },
		{ "--logs-max-mb", cfg->logs_max_mb },
		{ "--rate-limit", cfg->rate_limit },
		{ "--team-max-sandboxes", cfg->team_max_sandboxes },
		{ "--warm-pool-size", cfg->warm_pool_size },
		{ "--warm-pool-max", cfg->warm_pool_max },
		{ "--mem-total-mb", cfg->mem_total_mb },
		{ "--checkpoint-after", cfg->checkpoint_after_s },
		{ "--template-cache-mb", cfg->template_cache_mb },
		{ "--template-uploads-mb", cfg->template_uploads_mb },
		{ "--template-upload-max-mb", cfg->template_upload_max_mb },
		{ "--build-timeout", cfg->build_timeout_s },
		{ "--ready-timeout", cfg->ready_timeout_s },
		{ "--history-kept", cfg->history_kept_s },
		{ "--events-kept", cfg->events_kept_s },
		{ "--webhook-timeout", cfg->webhook_timeout_s },
		{ "--webhook-attempts", cfg->webhook_attempts },
		{ "--webhook-retry-ms", cfg->webhook_retry_ms },
		{ "--alert-memory", cfg->alert_memory_percent },
		{ "--alert-cpu", cfg->alert_cpu_percent },
		{ "--alert-disk", cfg->alert_disk_percent },
		{ "--alert-processes", cfg->alert_processes_percent },
		{ "--alert-egress", cfg->alert_egress_percent },
		{ "--paused-kept", cfg->paused_kept_s },
		{ "--snapshots-kept", cfg->snapshots_kept_s },
		{ "--max-lifetime", cfg->max_lifetime_s },
		{ "--volume-mb", cfg->volume_size_mb },
		{ "--volume-max-mb", cfg->volume_max_mb },
		{ "--team-max-volumes", cfg->team_max_volumes },
		{ "--audit-kept", cfg->audit_kept_s },
		{ "--audit-max-mb", cfg->audit_max_mb },
		{ "--audit-segment-kb", cfg->audit_segment_kb },
		{ "--notebook-mb", cfg->notebook_mb },
		{ "--notebooks-max-mb", cfg->notebooks_max_mb },
		{ "--notebooks-kept", cfg->notebooks_kept_s },
	};

	_Static_assert(ARRAY_LEN(numbers) <= FRONT_NUMBERS, "there is room for all numbers");
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		words_add_number(f, numbers[i].option, numbers[i].value);
}

static void words_add_flags(struct front_words *f, const struct config *cfg)
{
	const struct {
		const char *option;
		bool on;
	} flags[] = {
		{ "--domain-default", !cfg->domain[0] && !cfg->tls_listen[0] },
		{ "--open", cfg->open },
		{ "--webhook-allow-private", cfg->webhook_allow_private || cfg->webhook_allow_own },
		{ "--metrics-open", cfg->metrics_open },
		{ "--audit-full", cfg->audit_full },
		{ "--text-from-stdout", cfg->text_from_stdout },
	};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (flags[i].on)
			words_add(f, flags[i].option, NULL);
}

static void words_add_texts(struct front_words *f, const struct warden *w, const char *state_dir)
{
	(void)snprintf(f->key, sizeof f->key, "%s/key", state_dir);

	const char *pairs[][2] = { { "--state", state_dir }, { "--key-file", f->key }, { "--url", w->ready_url },
		{ "--log-level", level_word[w->cfg.log_level] }, { "--domain", w->domain },
		{ "--image-map", w->cfg.image_map },
		{ "--image-packages", strcmp(w->cfg.image_packages, "none") == 0 ? "" : w->cfg.image_packages },
		{ "--prices", w->cfg.prices }, { "--audit", audit_word[w->cfg.audit] },
		{ "--interpreter-token", token_word[w->cfg.interpreter_token] } };

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (pairs[i][1][0])
			words_add(f, pairs[i][0], pairs[i][1]);
}

int front_open(struct warden *w, int exe_fd, const char *exe, const char *state_dir, struct err *e)
{
	static struct front_words words;
	struct service_spec spec = { .name = "atoll-front",
		.exe_fd = exe_fd,
		.argv = (char *const *)words.argv,
		.n_fds = w->n_doors,
		.delay_max_ms = w->cfg.restart_max_ms };

	words_add(&words, exe, NULL);
	words_add_texts(&words, w, state_dir);
	words_add_numbers(&words, &w->cfg);
	for (size_t i = 0; i < w->n_doors; i++) {
		spec.fds[i] = w->doors[i].fd;
		words_add(&words, "--door", w->doors[i].kind);
	}
	words_add_flags(&words, &w->cfg);
	if (user_find(w->cfg.user, &spec.uid, &spec.gid, e) < 0)
		return -e->no;
	w->hello_timer = timer_new(w->loop, on_no_hello, w);
	w->front = service_new(w->loop, &spec, &service_ops, w);
	if (!w->hello_timer || !w->front)
		return err_set(e, ENOMEM, "start the front: out of memory");
	return service_start(w->front, e);
}

void front_close(struct warden *w)
{
	link_free(take_ptr(&w->link));
	service_free(take_ptr(&w->front));
	timer_free(take_ptr(&w->hello_timer));
}

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
	struct msg_shutdown ev = { .head = { MSG_VERSION, EV_SHUTDOWN, 0 }, .kills = !w->cfg.keep_on_stop };

	answer(w, w->life, &ev, sizeof ev);
}
