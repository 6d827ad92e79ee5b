/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/oidc: one packet per question, matched by number; tickets of fixed size. */
#include "front/console/oidc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/util/mem.h"
#include "front/util/token.h"
#include "front/util/vault.h"
#include "http/json.h"
#include "loop/loop.h"

#define ROUND_MAX 64
#define ANSWER_MS 40000 /* atoll-oidc gives up earlier: three requests of 10 s */
#define LABEL STR_LIT("console.oidc")

struct question {
	LIST_ENTRY(question) link;
	uint32_t seq;
	uint64_t asked_ms;
	oidc_fn *fn;
	void *user;
};

struct oidc_link {
	struct links *links;
	int fd; /* -1: atoll-oidc does not run */
	struct watch *watch;
	uint32_t last_seq;
	unsigned n;
	LIST_HEAD(, question) list;
};

static void answer(struct oidc_link *l, struct question *q, const struct oi_done *done)
{
	oidc_fn *fn = q->fn;
	void *user = q->user;

	LIST_REMOVE(q, link);
	l->n--;
	free(q);
	fn(user, done);
}

static void hang_up(struct oidc_link *l)
{
	watch_free(take_ptr(&l->watch));
	fd_close(take_fd(&l->fd));
	while (!LIST_EMPTY(&l->list))
		answer(l, LIST_FIRST(&l->list), NULL);
}

static void on_ready(void *user, int events)
{
	static _Alignas(8) char msg[sizeof(struct oi_done) + 1];
	struct oidc_link *l = user;

	(void)events;
	for (int i = 0; i < ROUND_MAX && l->fd >= 0; i++) {
		struct oi_done d;
		struct question *q;
		size_t n_fds;
		ssize_t n = fd_recv(l->fd, msg, sizeof msg, NULL, 0, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0 || oi_done_check(msg, (size_t)n, &d) < 0) {
			log_at(n == 0 ? LOG_LVL_INFO : LOG_LVL_WARN,
			    "the connection to atoll-oidc has closed, waiting for the next", "bytes=%zd", n);
			hang_up(l);
			return;
		}
		LIST_FOREACH(q, &l->list, link)
		{
			if (q->seq == d.head.seq)
				break;
		}
		if (q) /* NULL: it was given up */
			answer(l, q, &d);
	}
}

struct oidc_link *oidc_link_new(struct links *links)
{
	struct oidc_link *l = must_alloc(sizeof *l);

	*l = (struct oidc_link) { .links = links, .fd = -1 };
	LIST_INIT(&l->list);
	return l;
}

void oidc_link_free(struct oidc_link *l)
{
	if (!l)
		return;
	hang_up(l);
	free(l);
}

void oidc_link_set(struct oidc_link *l, int fd)
{
	hang_up(l);
	l->fd = fd;
	l->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(l->links->loop, fd, WATCH_IN, on_ready, l);
	if (!l->watch)
		hang_up(l);
}

void oidc_link_tick(struct oidc_link *l)
{
	struct question *q, *next;
	uint64_t now = clock_mono_ms();

	for (q = LIST_FIRST(&l->list); q; q = next) {
		next = LIST_NEXT(q, link);
		if (now - q->asked_ms >= ANSWER_MS)
			answer(l, q, NULL);
	}
}

void oidc_ask(struct oidc_link *l, enum oi_type what, struct oi_ask *m, oidc_fn *fn, void *user)
{
	struct question *q;

	m->head = (struct oi_head) { OI_VERSION, (uint16_t)what, ++l->last_seq };
	if (l->fd < 0 || l->n >= OI_ASKS_MAX || fd_send(l->fd, m, sizeof *m, NULL, 0) < 0) {
		fn(user, NULL);
		return;
	}
	q = must_alloc(sizeof *q);
	*q = (struct question) { .seq = m->head.seq, .asked_ms = clock_mono_ms(), .fn = fn, .user = user };
	LIST_INSERT_HEAD(&l->list, q, link);
	l->n++;
}

/* --- tickets --- */

struct ticket {
	uint64_t until_ms;
	char state[OI_TOKEN_SIZE], nonce[OI_TOKEN_SIZE], verifier[OI_VERIFIER_SIZE], back[OI_BACK_SIZE];
};

void oidc_ticket_make(const struct vault *v, struct oi_ask *m, uint64_t now_ms, struct buf *out)
{
	struct ticket t;
	autobuf struct buf sealed = BUF_INIT(OIDC_TICKET_MAX);

	_Static_assert(OI_TOKEN_SIZE == TOKEN_SIZE && OI_VERIFIER_SIZE == 2 * TOKEN_SIZE - 1, "they are tokens");
	memset(&t, 0, sizeof t);
	token_make(m->state);
	token_make(m->nonce);
	token_make(m->verifier);
	token_make(m->verifier + TOKEN_SIZE - 1);
	t.until_ms = now_ms + OIDC_TICKET_S * 1000ull;
	memcpy(t.state, m->state, sizeof t.state);
	memcpy(t.nonce, m->nonce, sizeof t.nonce);
	memcpy(t.verifier, m->verifier, sizeof t.verifier);
	memcpy(t.back, m->back, sizeof t.back);
	vault_seal(v, LABEL, (struct str) { (const char *)&t, sizeof t }, &sealed);
	base64_encode(out, buf_view(&sealed), false);
	out->bad = out->bad || sealed.bad;
	explicit_bzero(&t, sizeof t);
}

int oidc_ticket_open(const struct vault *v, struct str ticket, struct str state, uint64_t now_ms, struct oi_ask *m,
    struct err *e)
{
	autobuf struct buf sealed = BUF_INIT(OIDC_TICKET_MAX), text = BUF_INIT(OIDC_TICKET_MAX);
	struct ticket t;

	if (base64_decode(ticket, &sealed) < 0 || vault_unseal(v, LABEL, buf_view(&sealed), &text) < 0 ||
	    text.n != sizeof t)
		return err_set(e, EACCES, "this log-in was not begun here");
	memcpy(&t, text.p, sizeof t);
	explicit_bzero(text.p, text.n);
	if (!secret_eq(str_of(t.state), state))
		return err_set(e, EACCES, "the answer is of another log-in than the one that was begun in this tab");
	/* also of the future: the clock was set back meanwhile */
	if (now_ms >= t.until_ms || t.until_ms - now_ms > OIDC_TICKET_S * 1000ull)
		return err_set(e, EACCES, "the log-in took too long: begin again");
	memcpy(m->nonce, t.nonce, sizeof t.nonce);
	memcpy(m->verifier, t.verifier, sizeof t.verifier);
	memcpy(m->back, t.back, sizeof t.back);
	explicit_bzero(&t, sizeof t);
	return 0;
}
