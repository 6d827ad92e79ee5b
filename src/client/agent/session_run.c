/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/session_run: runs code and transfers files by session.
 *
 * A run is retried only if none of its output has arrived: if the connection to the server failed, or if the sandbox
 * had ended before the run started. In the latter case it runs in a new sandbox. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/agent/sessions.h"

struct run {
	struct atoll_sessions *m;
	struct atoll *a;
	const char *owner, *id;
	const struct atoll_code *code;
	const struct atoll_code_events *on;
	bool begun;
	struct secrets secrets; /* used if redact is set */
	struct redact_stream held_out, held_err;
	struct atoll_execution *x;
	struct atoll_session_result *out;
};

/* --- events: passed on, redacted if configured; each sets begun --- */

static int pass_stream(struct run *r, struct redact_stream *st, int (*fn)(void *user, const char *text, size_t n),
    const char *text, size_t n)
{
	r->begun = true;
	if (!fn)
		return 0;
	return r->m->cfg.redact ? redact_stream_feed(st, (struct str) { text, n }, &r->secrets, fn, r->on->user)
				: fn(r->on->user, text, n);
}

static int on_stdout(void *user, const char *text, size_t n)
{
	struct run *r = user;

	return pass_stream(r, &r->held_out, r->on ? r->on->on_stdout : NULL, text, n);
}

static int on_stderr(void *user, const char *text, size_t n)
{
	struct run *r = user;

	return pass_stream(r, &r->held_err, r->on ? r->on->on_stderr : NULL, text, n);
}

/* Sends the text held back of both streams, so that it precedes the next event. */
static int let_out(struct run *r)
{
	int rc = 0;

	if (r->on && r->on->on_stdout)
		rc = redact_stream_end(&r->held_out, &r->secrets, r->on->on_stdout, r->on->user);
	if (rc == 0 && r->on && r->on->on_stderr)
		rc = redact_stream_end(&r->held_err, &r->secrets, r->on->on_stderr, r->on->user);
	return rc;
}

/* Redacted texts of an event, valid until clean_done(). */
struct clean {
	char *v[16];
	size_t n;
	bool failed;
};

static void clean_done(struct clean *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i]);
}

static const char *clean(struct clean *c, const struct run *r, const char *text)
{
	if (!text)
		return NULL;
	char *z = atoll_redact(text, (const char *const *)r->secrets.v, r->secrets.n);

	c->failed |= !z;
	if (z)
		c->v[c->n++] = z;
	return z;
}

/* Redacts the values of other types. The caller frees each value and the list. Returns NULL if there are none. */
static struct atoll_pair *clean_pairs(struct clean *c, const struct run *r, const struct atoll_pair *v, size_t n)
{
	struct atoll_pair *own = n ? calloc(n, sizeof *own) : NULL;

	for (size_t i = 0; own && i < n; i++) {
		own[i] = (struct atoll_pair) { v[i].name,
			atoll_redact(v[i].value, (const char *const *)r->secrets.v, r->secrets.n) };
		c->failed |= !own[i].value;
	}
	c->failed |= n && !own;
	return own;
}

static int on_result(void *user, const struct atoll_result *res)
{
	struct run *r = user;
	__attribute__((cleanup(clean_done))) struct clean c = { .n = 0 };
	struct atoll_result own = *res;
	int rc;

	r->begun = true;
	if (!r->on || !r->on->on_result)
		return 0;
	if (!r->m->cfg.redact)
		return r->on->on_result(r->on->user, res);
	if ((rc = let_out(r)) != 0)
		return rc;
	const char **const texts[] = { &own.text, &own.html, &own.markdown, &own.svg, &own.latex, &own.javascript,
		&own.json, &own.data, &own.chart };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = clean(&c, r, *texts[i]);
	struct atoll_pair *extra = clean_pairs(&c, r, res->extra, res->n_extra);

	own.extra = extra;
	rc = c.failed ? -ENOMEM : r->on->on_result(r->on->user, &own);
	for (size_t i = 0; extra && i < res->n_extra; i++)
		free((char *)extra[i].value);
	free(extra);
	return rc;
}

static int on_error(void *user, const struct atoll_code_error *err)
{
	struct run *r = user;
	__attribute__((cleanup(clean_done))) struct clean c = { .n = 0 };
	struct atoll_code_error own;
	int rc;

	r->begun = true;
	if (!r->on || !r->on->on_error)
		return 0;
	if (!r->m->cfg.redact)
		return r->on->on_error(r->on->user, err);
	if ((rc = let_out(r)) != 0)
		return rc;
	own = (struct atoll_code_error) { clean(&c, r, err->name), clean(&c, r, err->value),
		clean(&c, r, err->traceback) };
	return c.failed ? -ENOMEM : r->on->on_error(r->on->user, &own);
}

/* Gets the secrets of the sandbox, once per session, and copies them for this run. */
static void learn_secrets(struct run *r, struct atoll_sandbox *sb)
{
	struct secrets s = { .n = 0 };
	bool told = false;

	secrets_done(&r->secrets);
	for (int round = 0; round < 2; round++) {
		struct session *it;

		(void)pthread_mutex_lock(&r->m->lock);
		for (it = r->m->all; it && strcmp(it->pub.id, r->id) != 0; it = it->next)
			;
		if (it && told) {
			for (size_t i = 0; i < s.n; i++)
				redact_secrets_add(&it->secrets, s.v[i]);
			it->secrets_known = true;
		}
		/* A later run may print variables of this one. */
		if (it)
			secrets_add_envs(&it->secrets, r->code->envs, r->code->n_envs);
		else
			secrets_add_envs(&r->secrets, r->code->envs, r->code->n_envs);
		bool known = it && it->secrets_known;

		for (size_t i = 0; it && i < it->secrets.n; i++)
			redact_secrets_add(&r->secrets, it->secrets.v[i]);
		(void)pthread_mutex_unlock(&r->m->lock);
		if (known || !it || round > 0)
			break;
		told = secrets_of(sb, &s) == 0; /* on failure, it is asked again next time: it may have ended */
	}
	secrets_done(&s);
}

static int try_once(void *user, bool *ret_begun, struct atoll_error *e)
{
	struct run *r = user;
	const struct atoll_code_events on = { .on_stdout = on_stdout,
		.on_stderr = on_stderr,
		.on_result = on_result,
		.on_error = on_error,
		.user = r };
	autofree char *gone = NULL;

	for (int round = 0;; round++) {
		struct atoll_sandbox *sb = NULL;
		bool recovered = false;
		int rc = sessions_open(r->m, r->a, r->owner, r->id, gone, r->code->timeout_ms, &sb, &recovered, e);

		r->out->recovered |= recovered;
		if (rc < 0)
			return client_late(rc, e);
		if (r->m->cfg.redact) /* before any output */
			learn_secrets(r, sb);
		rc = atoll_run_code(sb, r->code, &on, &r->x, e);
		if (rc != -ECANCELED && r->m->cfg.redact && let_out(r) != 0 && rc == 0)
			rc = client_fail(e, ECANCELED, 0, "interrupted");
		*ret_begun = r->begun;
		if (rc == -ESRCH && e->status == 502 && !r->begun && round == 0)
			gone = strdup(atoll_sandbox_id(sb));
		atoll_sandbox_free(sb);
		if (!gone || round > 0)
			return rc;
	}
}

/* Redacts the JSON of an execution. */
static int redact_result(struct run *r)
{
	json_t *j = json_loads(r->out->json, 0, NULL);

	json_t *logs = json_object_get(j, "logs");

	if (redact_pieces(json_object_get(logs, "stdout"), &r->secrets) < 0 ||
	    redact_pieces(json_object_get(logs, "stderr"), &r->secrets) < 0) {
		json_decref(j);
		j = NULL;
	}
	if (j)
		redact_json(j, (const char *const *)r->secrets.v);
	free(r->out->json);
	r->out->json = j ? json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(j);
	return r->out->json ? 0 : -ENOMEM;
}

static struct atoll_breaker *breaker_of(const struct atoll_sessions *m, const struct atoll *a)
{
	return a->breaker ? a->breaker : m->cfg.breaker;
}

static bool from_cache(struct run *r, const char *language, bool pure)
{
	struct atoll_cache *c = r->m->cfg.cache;

	if (!c || !pure || r->code->context_id)
		return false;
	r->out->json = atoll_cache_get(c, r->id, language, r->code->code);
	r->out->cached = r->out->json != NULL;
	return r->out->cached;
}

static void note_snapshot(struct run *r)
{
	(void)pthread_mutex_lock(&r->m->lock);
	for (const struct session *s = r->m->all; s; s = s->next) {
		if (strcmp(s->pub.id, r->id) == 0)
			r->out->from_snapshot = s->from_snapshot;
	}
	(void)pthread_mutex_unlock(&r->m->lock);
}

int atoll_session_run(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const struct atoll_code *code, const struct atoll_code_events *on, struct atoll_session_result *ret,
    struct atoll_error *e)
{
	NEED(e, m && a && id && code && code->code && ret);
	struct atoll_session_result out = { .tries = 1 };
	struct atoll_session there;
	const char *language = code->language ? code->language : "python";
	bool pure = m->cfg.cache && atoll_cache_enabled(m->cfg.cache, id) && atoll_code_pure(language, code->code);
	struct atoll_code copy = *code;
	struct run r = { .m = m, .a = a, .owner = owner, .id = id, .code = &copy, .on = on, .out = &out };

	/* Check that the session belongs to the owner before using its cache. */
	if (atoll_session_get(m, owner, id, &there, e) < 0)
		return -e->no;
	copy.timeout_ms = code->timeout_ms ? code->timeout_ms : m->retry.timeout_ms;
	if (from_cache(&r, language, pure)) {
		*ret = out;
		return 0;
	}
	/* Before the run, because even a failed one may have changed something. */
	if (!pure)
		atoll_session_written(m, id);
	sessions_run_begin(m, owner, id);
	int rc = atoll_retry_run(&m->retry, breaker_of(m, a), try_once, &r, &out.tries, e);

	sessions_run_end(m, owner, id);
	out.json = rc < 0 ? NULL : atoll_execution_json(r.x);
	if (out.json && m->cfg.redact && redact_result(&r) < 0)
		out.json = NULL;
	secrets_done(&r.secrets);
	redact_stream_done(&r.held_out);
	redact_stream_done(&r.held_err);
	if (rc < 0) {
		atoll_execution_free(r.x);
		return rc;
	}
	if (out.json && pure && !r.x->error)
		atoll_cache_put(m->cfg.cache, id, language, code->code, out.json);
	atoll_execution_free(r.x);
	if (!out.json)
		return client_no_memory(e);
	if (out.recovered)
		note_snapshot(&r);
	*ret = out;
	return 0;
}

void atoll_session_result_done(struct atoll_session_result *r)
{
	free(r->json);
	*r = (struct atoll_session_result) { 0 };
}

/* --- files --- */

struct transfer {
	struct atoll_sessions *m;
	struct atoll *a;
	const char *owner, *id, *path;
	const void *p; /* NULL for a download */
	size_t n;
	char **ret;
	size_t *ret_n;
};

/* Writing a whole file is idempotent, so it can be retried at any point. */
static int transfer_once(void *user, bool *ret_begun, struct atoll_error *e)
{
	const struct transfer *t = user;
	autofree char *gone = NULL;

	*ret_begun = false;
	for (int round = 0;; round++) {
		struct atoll_sandbox *sb = NULL;
		int rc = atoll_session_open(t->m, t->a, t->owner, t->id, gone, &sb, NULL, e);

		if (rc < 0)
			return rc;
		rc = t->p ? atoll_file_put(sb, t->path, NULL, t->p, t->n, e)
			  : atoll_file_get(sb, t->path, NULL, 0, t->ret, t->ret_n, e);
		if (rc == -ESRCH && round == 0)
			gone = strdup(atoll_sandbox_id(sb));
		atoll_sandbox_free(sb);
		if (!gone || round > 0)
			return rc;
	}
}

int atoll_session_upload(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id, const char *path,
    const void *p, size_t n, struct atoll_error *e)
{
	NEED(e, m && a && id && path && (p || n == 0));
	struct transfer t = { m, a, owner, id, path, p ? p : "", n, NULL, NULL };

	atoll_session_written(m, id);
	return atoll_retry_run(&m->retry, breaker_of(m, a), transfer_once, &t, NULL, e);
}

int atoll_session_download(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *path, char **ret, size_t *ret_n, struct atoll_error *e)
{
	NEED(e, m && a && id && path && ret);
	size_t unwanted;
	struct transfer t = { m, a, owner, id, path, NULL, 0, ret, ret_n ? ret_n : &unwanted };

	return atoll_retry_run(&m->retry, breaker_of(m, a), transfer_once, &t, NULL, e);
}
