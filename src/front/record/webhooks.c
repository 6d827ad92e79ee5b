/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/webhooks: the list of webhooks, and the jobs for atoll-webhooks. */
#include "front/record/webhooks.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/link/links.h"
#include "front/record/records.h"
#include "front/util/mem.h"
#include "front/util/vault.h"
#include "http/json.h"
#include "ipc/webhooks.h"
#include "loop/loop.h"
#include "store/webhooks.h"

#define ROUND_MAX 64
#define UNSENT_RETRY_MS 1000 /* if a job could not be sent to atoll-webhooks */
#define BACKOFF_MAX_MS 3600000ull
#define NEVER UINT64_MAX

struct webhooks {
	struct records *rs;
	struct webhook_list all;
	int fd; /* -1: atoll-webhooks does not run */
	struct watch *watch;
	struct timer *timer; /* for the next delivery that is due */
	uint32_t last_seq, under_way;
};

static void work(struct webhooks *h);

/* --- pure --- */

void webhook_sign(struct str secret, struct str body, char ret[WEBHOOK_SIGNATURE_SIZE])
{
	autobuf struct buf all = BUF_INIT(secret.n + body.n + 1), text = BUF_INIT(64);
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	buf_str(&all, secret);
	buf_str(&all, body);
	if (all.bad || EVP_Digest(all.p ? all.p : "", all.n, sum, &n, EVP_sha256(), NULL) != 1)
		abort(); /* out of memory, as in must_alloc() */
	base64_encode(&text, (struct str) { (char *)sum, n }, false);
	for (size_t i = 0; i < text.n; i++)
		text.p[i] = text.p[i] == '+' ? '-' : text.p[i] == '/' ? '_' : text.p[i];
	(void)str_copy(ret, WEBHOOK_SIGNATURE_SIZE, buf_view(&text));
	if (all.p)
		explicit_bzero(all.p, all.n);
}

uint64_t webhook_backoff_ms(uint32_t base_ms, uint32_t attempts, uint32_t chance)
{
	uint64_t ms = base_ms;

	for (uint32_t i = 1; i < attempts && ms < BACKOFF_MAX_MS; i++)
		ms *= 4;
	if (ms > BACKOFF_MAX_MS)
		ms = BACKOFF_MAX_MS;
	return ms - chance % (ms / 2 + 1);
}

/* --- the list --- */

struct webhooks *webhooks_new(struct records *rs)
{
	struct webhooks *h = must_alloc(sizeof *h);

	h->rs = rs;
	h->fd = -1;
	TAILQ_INIT(&h->all);
	return h;
}

void webhook_free(struct webhook *w)
{
	if (!w)
		return;
	free(w->name);
	free(w->url);
	buf_done(&w->sealed);
	free(w);
}

static void remove_one(struct webhooks *h, struct webhook *w)
{
	TAILQ_REMOVE(&h->all, w, link);
	webhook_free(w); /* its job, if any, continues: the answer of atoll-webhooks frees the place */
}

struct webhook *webhook_next(const struct webhooks *h, const char *team, const struct webhook *w)
{
	struct webhook *next = w ? TAILQ_NEXT(w, link) : TAILQ_FIRST(&h->all);

	while (next && strcmp(next->team, team) != 0)
		next = TAILQ_NEXT(next, link);
	return next;
}

struct webhook *webhook_find(const struct webhooks *h, const char *team, const char *id)
{
	struct webhook *w = webhook_next(h, team, NULL);

	while (w && strcmp(w->id, id) != 0)
		w = webhook_next(h, team, w);
	return w;
}

size_t webhook_count(const struct webhooks *h, const char *team)
{
	size_t n = 0;

	for (const struct webhook *w = webhook_next(h, team, NULL); w; w = webhook_next(h, team, w))
		n++;
	return n;
}

uint64_t webhooks_waiting(const struct webhooks *h)
{
	const struct webhook *w;
	uint64_t n = 0;

	TAILQ_FOREACH(w, &h->all, link)
	n += w->waiting;
	return n;
}

static void put_events(const struct webhook *w, struct buf *out)
{
	for (int t = 0; t < EVENT_TYPES; t++) {
		if (w->events & 1u << t)
			buf_fmt(out, "%s%s", out->n ? "," : "", event_type_name((enum event_type)t));
	}
}

static uint32_t read_events(const char *text)
{
	struct str rest = str_of(text);
	uint32_t all = 0;

	while (rest.p) {
		int t = event_type_find(str_cut(&rest, ','));

		if (t >= 0)
			all |= 1u << t;
	}
	return all;
}

static char *label_of(const struct webhook *w)
{
	return str_fmt("webhook %s %s", w->team, w->id);
}

static int save(struct webhooks *h, struct webhook *w, const char *secret, bool is_new, struct err *e)
{
	autobuf struct buf events = BUF_INIT(1024);
	autofree char *label = label_of(w);

	if (secret && label) {
		buf_done(&w->sealed);
		w->sealed = BUF_INIT(WEBHOOK_SECRET_MAX + 64);
		vault_seal(h->rs->link->vault, str_of(label), str_of(secret), &w->sealed);
	}
	put_events(w, &events);

	struct webhook_row row = {
		.id = w->id,
		.team = w->team,
		.name = w->name,
		.url = w->url,
		.events = events.n ? buf_cstr(&events) : "",
		.enabled = w->enabled,
		.sealed = w->sealed.p,
		.n_sealed = w->sealed.n,
		.created_ms = w->created_ms,
	};

	if (!label || w->sealed.bad || !row.events)
		return err_set(e, ENOMEM, "seal the secret of a webhook");
	return is_new ? webhooks_add(h->rs->link->store, &row, e) : webhooks_set(h->rs->link->store, &row, e);
}

int webhook_add(struct webhooks *h, struct webhook *w, const char *secret, struct err *e)
{
	if (save(h, w, secret, true, e) < 0)
		return -e->no;
	TAILQ_INSERT_TAIL(&h->all, w, link);
	return 0;
}

int webhook_set(struct webhooks *h, struct webhook *w, const char *secret, struct err *e)
{
	if (save(h, w, secret, false, e) < 0)
		return -e->no;
	w->next_mono_ms = 0; /* the change may have fixed it */
	work(h);
	return 0;
}

int webhook_drop(struct webhooks *h, struct webhook *w, struct err *e)
{
	if (webhooks_drop(h->rs->link->store, w->id, e) < 0)
		return -e->no;
	remove_one(h, w);
	return 0;
}

void webhooks_forget(struct webhooks *h, const char *team)
{
	struct webhook *w;

	while ((w = webhook_next(h, team, NULL)))
		remove_one(h, w);
}

static void on_row(void *user, const struct webhook_row *row)
{
	struct webhooks *h = user;
	struct webhook *w = must_alloc(sizeof *w);

	(void)str_copy(w->id, sizeof w->id, str_of(row->id));
	(void)str_copy(w->team, sizeof w->team, str_of(row->team));
	w->name = must_dup(row->name);
	w->url = must_dup(row->url);
	w->enabled = row->enabled;
	w->events = read_events(row->events);
	w->sealed = BUF_INIT(WEBHOOK_SECRET_MAX + 64);
	buf_put(&w->sealed, row->sealed, row->n_sealed);
	w->created_ms = row->created_ms;
	TAILQ_INSERT_TAIL(&h->all, w, link);
}

static void on_due(void *user)
{
	work(user);
}

int webhooks_load(struct webhooks *h, struct err *e)
{
	struct webhook *w;

	h->timer = timer_new(h->rs->link->loop, on_due, h);
	if (!h->timer)
		return err_set(e, ENOMEM, "make a timer");
	if (webhooks_each(h->rs->link->store, on_row, h, e) < 0)
		return -e->no;
	TAILQ_FOREACH(w, &h->all, link)
	{
		if (deliveries_waiting(h->rs->link->store, w->id, &w->waiting, e) < 0)
			return -e->no;
	}
	return 0;
}

/* --- the queue --- */

int webhooks_push_one(struct webhooks *h, struct webhook *w, uint64_t event_seq, char ret_id[TEAM_ID_SIZE])
{
	struct err e;

	if (w->waiting >= WEBHOOK_WAITING_MAX) {
		if (h->rs->account->metrics->webhooks_dropped++ % 1000 == 0)
			log_warn("the queue of a webhook is full: dropping events", "webhook=%s waiting=%llu", w->id,
			    (unsigned long long)w->waiting);
		return -EDQUOT;
	}
	uuid_make(ret_id);
	if (deliveries_add(h->rs->link->store, ret_id, w->id, event_seq, clock_wall_ms(), &e) < 0) {
		log_warn("could not queue a delivery", "webhook=%s err=%s", w->id, e.text);
		return -EIO;
	}
	w->waiting++;
	work(h);
	return 0;
}

void webhooks_push(struct webhooks *h, const char *team, enum event_type t, uint64_t event_seq)
{
	char id[TEAM_ID_SIZE];

	if (!h)
		return;
	for (struct webhook *w = webhook_next(h, team, NULL); w; w = webhook_next(h, team, w)) {
		if (w->enabled && (w->events & 1u << t))
			(void)webhooks_push_one(h, w, event_seq, id);
	}
}

struct sending {
	struct webhooks *h;
	struct webhook *w;
	int r;
	bool hopeless; /* this delivery itself cannot be sent */
};

/* A delivery whose event no longer exists, or that cannot be signed, can never be sent. */
static void give_up(struct webhooks *h, struct webhook *w, const struct delivery_row *d, const char *why)
{
	struct delivery_row to = { .seq = d->seq,
		.state = DELIVERY_FAILED,
		.attempts = d->attempts,
		.last_ms = clock_wall_ms(),
		.outcome = HK_LOST,
		.error = why };
	struct err e;

	if (deliveries_set(h->rs->link->store, &to, &e) < 0)
		log_warn("could not record the outcome of a delivery", "webhook=%s err=%s", w->id, e.text);
	w->waiting--;
	h->rs->account->metrics->webhooks_failed++;
}

static void send_one(void *user, const struct delivery_row *d)
{
	struct sending *s = user;
	struct webhooks *h = s->h;
	struct webhook *w = s->w;
	autobuf struct buf body = BUF_INIT(HK_BODY_MAX), secret = BUF_INIT(WEBHOOK_SECRET_MAX + 1),
			   msg = BUF_INIT(HK_MAX);
	autofree char *label = label_of(w);
	autojson json_t *event = d->event.id ? event_json(&d->event) : NULL;
	struct hk_job m = { .head = { HK_VERSION, HK_JOB, 0 },
		.timeout_ms = h->rs->link->opt.webhook_timeout_s * 1000,
		.attempt = d->attempts + 1 };

	json_put(&body, event);
	if (!event || body.bad || !label ||
	    vault_unseal(h->rs->link->vault, str_of(label), buf_view(&w->sealed), &secret) < 0) {
		s->hopeless = true;
		w->row = d->seq;
		w->attempts = d->attempts;
		return;
	}
	if (++h->last_seq == 0)
		h->last_seq = 1;
	m.head.seq = h->last_seq;
	m.n_url = (uint32_t)strlen(w->url);
	m.n_body = (uint32_t)body.n;
	(void)str_copy(m.webhook, sizeof m.webhook, str_of(w->id));
	(void)str_copy(m.delivery, sizeof m.delivery, str_of(d->id));
	uuid_make(m.try);
	webhook_sign(buf_view(&secret), buf_view(&body), m.signature);
	explicit_bzero(secret.p, secret.n);
	buf_put(&msg, &m, sizeof m);
	buf_z(&msg, w->url);
	buf_str(&msg, buf_view(&body));

	ssize_t n = msg.bad ? -ENOMEM : fd_send(h->fd, msg.p, msg.n, NULL, 0);

	s->r = n < 0 ? (int)n : 0;
	if (n < 0)
		return;
	w->seq = m.head.seq;
	w->row = d->seq;
	w->attempts = d->attempts;
	h->under_way++;
}

static bool may_send(const struct webhooks *h, const struct webhook *w, uint64_t now)
{
	return h->fd >= 0 && h->under_way < HK_JOBS_MAX && !w->seq && w->waiting > 0 && w->enabled &&
	    w->next_mono_ms <= now;
}

/* Returns false if it cannot be sent now. If atoll-webhooks has exited, on_ready() closes the link; other errors
 * may be gone a little later. */
static bool send_next(struct webhooks *h, struct webhook *w)
{
	struct sending s = { .h = h, .w = w };
	struct err e;
	int r = deliveries_next(h->rs->link->store, w->id, send_one, &s, &e);

	if (r == 0)
		w->waiting = 0;
	if (r == 1 && s.hopeless)
		give_up(h, w, &(struct delivery_row) { .seq = w->row, .attempts = w->attempts },
		    "the event is not known any more, or cannot be signed");
	if (r < 0 || s.r < 0)
		w->next_mono_ms = clock_mono_ms() + UNSENT_RETRY_MS;
	return r == 1 && s.r == 0;
}

/* Sends everything that is due, and arms the timer for the next. */
static void work(struct webhooks *h)
{
	uint64_t now = clock_mono_ms(), next = NEVER;
	struct webhook *w;

	TAILQ_FOREACH(w, &h->all, link)
	{
		while (may_send(h, w, now) && send_next(h, w))
			;
		if (w->waiting > 0 && w->enabled && !w->seq && w->next_mono_ms > now && w->next_mono_ms < next)
			next = w->next_mono_ms;
	}
	if (h->timer && next != NEVER)
		timer_arm(h->timer, next - now);
}

/* --- results --- */

static void give_back(struct webhooks *h)
{
	if (h->under_way > 0) /* guards against a peer that answers too often */
		h->under_way--;
}

static void finish(struct webhooks *h, struct webhook *w, const struct hk_done *d)
{
	const struct front_options *o = &h->rs->link->opt;
	bool tried = d->outcome != HK_LOST || d->head.seq == 0; /* false: atoll-webhooks had no room for it */
	struct delivery_row to = { .seq = w->row,
		.attempts = w->attempts + tried,
		.last_ms = clock_wall_ms(),
		.outcome = d->outcome,
		.status = d->status,
		.took_ms = d->took_ms,
		.error = d->text };
	bool hopeless = d->outcome == HK_REFUSED || d->status == 410;
	uint32_t chance;
	struct err e;

	to.state = d->outcome == HK_OK                       ? DELIVERY_DONE
	    : hopeless || to.attempts >= o->webhook_attempts ? DELIVERY_FAILED
							     : DELIVERY_WAITING;
	w->seq = 0;
	w->next_mono_ms = 0;
	give_back(h);
	if (to.state != DELIVERY_WAITING)
		w->waiting--;
	if (d->outcome != HK_OK && !hopeless) {
		rand_bytes(&chance, sizeof chance);
		uint64_t ms = webhook_backoff_ms(o->webhook_retry_ms, to.attempts, chance),
			 asked = d->retry_after_s * 1000ull;

		w->next_mono_ms = clock_mono_ms() + (asked > ms ? asked : ms);
	}
	h->rs->account->metrics->webhooks_tried[d->outcome]++;
	h->rs->account->metrics->webhooks_failed += to.state == DELIVERY_FAILED;
	log_at(d->outcome == HK_OK ? LOG_LVL_DEBUG : LOG_LVL_INFO, "webhook called",
	    "webhook=%s outcome=%s status=%u attempt=%u ms=%u%s", w->id, hk_outcome_name(d->outcome), d->status,
	    to.attempts, d->took_ms, to.state == DELIVERY_FAILED ? " given-up" : "");
	if (deliveries_set(h->rs->link->store, &to, &e) < 0)
		log_warn("could not record the outcome of a delivery: it may be sent again", "webhook=%s err=%s", w->id,
		    e.text);
}

static void hang_up(struct webhooks *h)
{
	struct hk_done lost = { .outcome = HK_LOST, .text = "atoll-webhooks ended meanwhile" };
	struct webhook *w;

	watch_free(take_ptr(&h->watch));
	fd_close(take_fd(&h->fd));
	TAILQ_FOREACH(w, &h->all, link)
	{
		if (w->seq)
			finish(h, w, &lost);
	}
	h->under_way = 0; /* including jobs of webhooks that were removed meanwhile */
}

static void on_ready(void *user, int events)
{
	struct webhooks *h = user;
	_Alignas(8) char msg[sizeof(struct hk_done) + 1];

	(void)events;
	for (int i = 0; i < ROUND_MAX && h->fd >= 0; i++) {
		struct hk_done d;
		struct webhook *w;
		size_t n_fds;
		ssize_t n = fd_recv(h->fd, msg, sizeof msg, NULL, 0, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			break;
		if (n <= 0 || hk_done_check(msg, (size_t)n, &d) < 0) {
			log_at(n == 0 ? LOG_LVL_INFO : LOG_LVL_WARN,
			    "the connection to atoll-webhooks has closed, waiting for the next", "bytes=%zd", n);
			hang_up(h);
			break;
		}
		TAILQ_FOREACH(w, &h->all, link)
		{
			if (w->seq == d.head.seq)
				break;
		}
		if (w && d.head.seq)
			finish(h, w, &d);
		else /* the webhook was removed meanwhile */
			give_back(h);
	}
	work(h);
}

void webhooks_link(struct webhooks *h, int fd)
{
	hang_up(h);
	h->fd = fd;
	h->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(h->rs->link->loop, fd, WATCH_IN, on_ready, h);
	if (!h->watch)
		hang_up(h);
	else
		work(h);
}

void webhooks_free(struct webhooks *h)
{
	if (!h)
		return;
	watch_free(h->watch);
	fd_close(h->fd);
	timer_free(h->timer);
	while (!TAILQ_EMPTY(&h->all))
		remove_one(h, TAILQ_FIRST(&h->all));
	free(h);
}
