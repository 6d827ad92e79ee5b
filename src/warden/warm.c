/* SPDX-License-Identifier: Apache-2.0 */
/* warm: one entry per template of the warden, at most one child for each. */
#include "warden/warm.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/warden.h"

#define LOOK_MS 20000      /* between two checks of a warm template */
#define RETRY_MS 250       /* after the first failure, */
#define RETRY_MAX_MS 60000 /* and after many */
#define STUCK_MS 240000    /* a child that runs for longer is killed; its own timeout for a zygote is shorter */

enum { WENT_WELL, FAILED, CANNOT }; /* exit codes of a child */

struct entry {
	struct warm *m;
	char key[ENGINE_KEY_SIZE];
	bool cannot;            /* the template has nothing to warm */
	unsigned failures;      /* consecutive */
	uint64_t not_before_ms; /* the next attempt or check */
	uint64_t since_ms;      /* when the child was started */
	pid_t pid;              /* of the running child; 0: none */
	int pidfd;
	struct watch *watch;
};

struct warm {
	struct warden *w;
	struct entry entries[TEMPLATES_MAX];
	size_t n;
};

/* In the child. */
static _Noreturn void child_main(const struct entry *en, pid_t warden)
{
	const struct warden *w = en->m->w;
	struct err e = ERR_INIT;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != warden)
		_exit(FAILED);
	aside_signals();
	warden_let_go(w);
	int r = w->ops->warm(w->engine, en->key, &e);

	if (r == ENGINE_NEVER)
		log_info("no zygote for a template", "template=%.8s why=%s", en->key, e.text);
	else if (r < 0)
		log_warn("no zygote: sandboxes start their interpreters themselves; retrying",
		    "template=%.8s failures=%u err=%s", en->key, en->failures + 1, e.text);
	_exit(r == 0 ? WENT_WELL : r == ENGINE_NEVER ? CANNOT : FAILED);
}

/* Retries soon after a first failure, whose cause may be gone, then after growing delays. */
static void put_off(struct entry *en)
{
	uint64_t delay = (uint64_t)RETRY_MS << (en->failures < 16 ? en->failures : 16);

	en->failures++;
	en->not_before_ms = loop_now_ms(en->m->w->loop) + (delay < RETRY_MAX_MS ? delay : RETRY_MAX_MS);
}

static void entry_rest(struct entry *en)
{
	watch_free(take_ptr(&en->watch));
	fd_close(take_fd(&en->pidfd));
	en->pid = 0;
}

static void on_end(void *user, int events)
{
	struct entry *en = user;
	int status;

	(void)events;
	if (waitpid(en->pid, &status, WNOHANG) == 0)
		return;
	bool well = WIFEXITED(status) && WEXITSTATUS(status) == WENT_WELL;

	en->cannot = WIFEXITED(status) && WEXITSTATUS(status) == CANNOT;
	if (WIFSIGNALED(status))
		log_warn("the process that makes a zygote was killed; retrying", "template=%.8s signal=%d", en->key,
		    WTERMSIG(status));
	if (well) {
		en->failures = 0;
		en->not_before_ms = loop_now_ms(en->m->w->loop) + LOOK_MS;
	} else {
		put_off(en);
	}
	entry_rest(en);
}

static void entry_run(struct entry *en)
{
	struct loop *l = en->m->w->loop;
	pid_t self = getpid(), pid = fork();

	if (pid == 0)
		child_main(en, self);
	if (pid < 0) {
		log_warn("could not fork to make a zygote; retrying", "template=%.8s errno=%d", en->key, errno);
		put_off(en);
		return;
	}
	en->pid = pid;
	en->since_ms = loop_now_ms(l);
	en->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	en->watch = en->pidfd < 0 ? NULL : watch_new(l, en->pidfd, WATCH_IN, on_end, en);
	if (!en->watch) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		put_off(en);
		entry_rest(en);
	}
}

static struct entry *entry_of(struct warm *m, const char *key)
{
	for (size_t i = 0; i < m->n; i++) {
		if (strcmp(m->entries[i].key, key) == 0)
			return &m->entries[i];
	}
	return NULL;
}

struct warm *warm_new(struct warden *w)
{
	struct warm *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->w = w;
	for (uint32_t i = 0; i < w->cfg.n_templates; i++) {
		if (entry_of(m, w->cfg.templates[i].key)) /* two names for one template */
			continue;
		struct entry *en = &m->entries[m->n++];

		*en = (struct entry) { .m = m, .pidfd = -1 };
		(void)str_copy(en->key, sizeof en->key, str_of(w->cfg.templates[i].key));
		entry_run(en);
	}
	return m;
}

void warm_wanted(struct warm *m, const char *key)
{
	struct entry *en = m && !m->w->stopping ? entry_of(m, key) : NULL;

	if (!en || en->pid || en->cannot)
		return;
	/* Run again if it was warm at the last check and is not now; a template that has failed waits for its
	 * next attempt. */
	if (en->failures && en->not_before_ms > loop_now_ms(m->w->loop))
		return;
	entry_run(en);
}

bool warm_busy(const struct warm *m, const char *key)
{
	for (size_t i = 0; m && i < m->n; i++) {
		if (m->entries[i].pid && strcmp(m->entries[i].key, key) == 0)
			return true;
	}
	return false;
}

void warm_tick(struct warm *m)
{
	uint64_t now = m ? loop_now_ms(m->w->loop) : 0;

	for (size_t i = 0; m && !m->w->stopping && i < m->n; i++) {
		struct entry *en = &m->entries[i];

		if (!en->pid && !en->cannot && now >= en->not_before_ms)
			entry_run(en);
		if (en->pid && now >= en->since_ms + STUCK_MS) {
			log_warn("a template's zygote is not ready in time, giving up", "template=%.8s pid=%d", en->key,
			    (int)en->pid);
			(void)kill(en->pid, SIGKILL);
			en->since_ms = now;
		}
	}
}

void warm_free(struct warm *m)
{
	for (size_t i = 0; m && i < m->n; i++) {
		struct entry *en = &m->entries[i];

		if (!en->pid)
			continue;
		(void)kill(en->pid, SIGKILL);
		(void)waitpid(en->pid, NULL, 0);
		entry_rest(en);
	}
	free(m);
}
