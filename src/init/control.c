/* SPDX-License-Identifier: Apache-2.0 */
/* control: /health, /envs, and /init, by which the front tells who and what this sandbox is.
 *
 * POST /init {envVars,defaultUser,defaultWorkdir,sandboxId,templateId,hostname,caBundle,textFromStdout,timestamp}:
 * every field may be left out and then stays as it is. It comes right after the start, again when a sandbox of the pool
 * is given to somebody, and after a resume; with a timestamp, one that is older than what was applied last is answered
 * but changes nothing. */
#include "init/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "http/json.h"
#include "http/server.h"
#include "init/init.h"
#include "init/reply.h"
#include "init/template.h"
#include "init/trust.h"
#include "loop/loop.h"

#define INIT_BODY_MAX (1024 * 1024)
#define HOSTNAME_MAX 64
#define QUIET_MS 1 /* for those that are being closed already */
#define NO_STORE "Cache-Control: no-store\r\n"

void control_health(struct init *in, struct http_req *rq)
{
	(void)in;
	http_respond(rq, 204, NULL, NO_STORE, STR_NULL);
}

void control_envs(struct init *in, struct http_req *rq)
{
	autojson json_t *all = env_merged(&in->env);

	init_reply_json(rq, 200, NO_STORE, all);
}

struct setup { /* an /init body; NULL: not given */
	const char *user, *workdir, *sandbox, *template_id, *hostname, *timestamp, *ca;
	json_t *vars;
	uint64_t us;
	bool text_from_stdout;
};

/* *s has what holds so far. */
static int setup_parse(const json_t *body, struct setup *s, struct err *e)
{
	if (json_get_obj(body, "envVars", &s->vars, e) < 0 || json_get_str(body, "defaultUser", &s->user, e) < 0 ||
	    json_get_str(body, "defaultWorkdir", &s->workdir, e) < 0 ||
	    json_get_str(body, "sandboxId", &s->sandbox, e) < 0 ||
	    json_get_str(body, "templateId", &s->template_id, e) < 0 ||
	    json_get_str(body, "hostname", &s->hostname, e) < 0 || json_get_str(body, "caBundle", &s->ca, e) < 0 ||
	    json_get_bool(body, "textFromStdout", &s->text_from_stdout, e) < 0 ||
	    json_get_str(body, "timestamp", &s->timestamp, e) < 0)
		return -EINVAL;
	if (s->vars && env_check(s->vars, "envVars", e) < 0)
		return -EINVAL;
	if (s->hostname && strlen(s->hostname) > HOSTNAME_MAX)
		return err_set(e, EINVAL, "field 'hostname' is longer than %d bytes", HOSTNAME_MAX);
	if (s->timestamp && clock_parse_rfc3339(str_of(s->timestamp), &s->us) < 0)
		return err_set(e, EINVAL, "field 'timestamp' must be an RFC 3339 time");
	return 0;
}

static void replace(char **at, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return; /* the old value is better than none */
	free(*at);
	*at = copy;
}

/* For programs inside that look there instead of into their environment. */
static void write_run_file(struct init *in, const char *name, const char *value)
{
	autofree char *path = str_fmt("%s/.%s", in->run_dir, name);
	autoclose int fd = -1;

	(void)mkdir(in->run_dir, 0755);
	if (path)
		(void)unlink(path);
	fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444) : -1;
	if (fd < 0 || fd_write_all(fd, value, strlen(value)) < 0)
		log_warn("cannot write a run file", "name=%s errno=%d", name, errno);
}

/* A variable of ours and the file that says the same; nothing when the sandbox has it already. */
static void tell(struct init *in, const char *name, const char *value)
{
	const char *had = json_string_value(json_object_get(in->env.fixed, name));

	if (!value || (in->set_up && had && strcmp(had, value) == 0))
		return;
	env_fix(&in->env, name, value);
	write_run_file(in, name, value);
}

/* Somebody who was one with another until a moment ago. */
static void become_copy(struct init *in)
{
	char id[34];
	autoclose int fd = open("/etc/machine-id", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
	    0444);

	rand_hex(id, 32);
	memcpy(id + 32, "\n", 2);
	if (fd < 0 || fd_write_all(fd, id, 33) < 0)
		log_warn("cannot write a new machine-id", "errno=%d", errno);
	interp_copied(in);
}

/* What the template says, if somebody has built it, goes before what holds for all. */
static void take_defaults(struct init *in, const struct setup *s)
{
	autojson json_t *built = template_read();
	const char *user = json_string_value(json_object_get(built, "user"));
	const char *workdir = json_string_value(json_object_get(built, "workdir"));

	if (user || (s->user && s->user[0]))
		replace(&in->default_user, user ? user : s->user);
	if (workdir || (s->workdir && s->workdir[0]))
		replace(&in->default_workdir, workdir ? workdir : s->workdir);
}

static void setup_apply(struct init *in, const struct setup *s)
{
	autojson json_t *before = env_merged(&in->env);

	env_read_template(&in->env);
	if (s->vars)
		env_give(&in->env, s->vars);
	take_defaults(in, s);
	tell(in, "E2B_SANDBOX", "true");
	if (s->sandbox && in->sandbox && strcmp(in->sandbox, s->sandbox) != 0)
		become_copy(in);
	if (s->sandbox)
		replace(&in->sandbox, s->sandbox);
	tell(in, "E2B_SANDBOX_ID", s->sandbox);
	tell(in, "E2B_TEMPLATE_ID", s->template_id);
	in->interp.text_from_stdout = s->text_from_stdout;
	if (s->ca)
		trust_env(in->env.trust, TRUST_BUNDLE);
	if (s->hostname && s->hostname[0] && sethostname(s->hostname, strlen(s->hostname)) < 0)
		log_warn("cannot set the hostname", "errno=%d", errno);

	autojson json_t *after = env_merged(&in->env);

	if (in->set_up && !json_equal(before, after))
		interp_env_changed(in);
	in->set_up = true;
}

struct request {
	struct init *in;
	struct buf body;
};

static void on_body(struct http_req *rq, struct str data)
{
	struct request *r = rq->user;

	buf_str(&r->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct request *r = rq->user;
	autojson json_t *body = NULL;
	struct err e = ERR_INIT;
	struct setup s = { .text_from_stdout = r->in->interp.text_from_stdout };

	if (r->body.bad) {
		init_reply_error(rq, 413, "request body is larger than %d bytes", INIT_BODY_MAX);
		return;
	}
	if (json_read_object(buf_view(&r->body), true, &body, &e) < 0 || setup_parse(body, &s, &e) < 0 ||
	    (s.ca && trust_install(str_of(s.ca), TRUST_BUNDLE, TRUST_EXTRA, &e) < 0)) {
		init_reply_error(rq, e.no == EINVAL ? 400 : 500, "%s", e.text);
		return;
	}
	if (!s.timestamp || s.us > r->in->init_us) {
		r->in->init_us = s.timestamp ? s.us : r->in->init_us;
		setup_apply(r->in, &s);
		interp_wake(r->in);
	}
	http_respond(rq, 204, NULL, NO_STORE "X-Envd-Version: " ENVD_VERSION "\r\n", STR_NULL);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct request *r = rq->user;

	(void)lost;
	buf_done(&r->body);
	free(r);
}

static const struct http_req_ops init_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

void control_init(struct init *in, struct http_req *rq)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r) {
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	r->in = in;
	r->body = BUF_INIT(INIT_BODY_MAX);
	rq->user = r;
	rq->ops = &init_ops;
}

/* --- quiet -------------------------------------------------------------------------------------------------- */

struct quiet {
	struct init *in;
	struct http_req *rq;
	struct timer *timer;
	enum { QUIET_ASKED, QUIET_MEANT, QUIET_DROPPED } step;
};

static void on_quiet(void *user)
{
	struct quiet *q = user;

	if (q->step == QUIET_DROPPED) {
		http_abort(q->rq);
		return;
	}
	if (q->step == QUIET_MEANT)
		http_server_drop_others(q->in->server, q->rq);
	q->step++;
	timer_arm(q->timer, QUIET_MS);
}

static void on_quiet_close(struct http_req *rq, bool lost)
{
	struct quiet *q = rq->user;

	(void)lost;
	timer_free(q->timer);
	free(q);
}

static const struct http_req_ops quiet_ops = { .on_close = on_quiet_close };

/* Before it is frozen to be written to disk: connections to the outside cannot be kept. All are closed, and the one
 * that asks for it last, without an answer: when its end is seen outside, no other is left.
 *
 * Not at once: who has asked may have given up on us long ago, frozen us and let us go on, and those that are open now
 * are for what came after it. His end is behind the request: it is read in the round of the loop between the first and
 * the second step. */
void control_quiet(struct init *in, struct http_req *rq)
{
	struct quiet *q = calloc(1, sizeof(*q));

	if (q)
		q->timer = timer_new(in->loop, on_quiet, q);
	if (!q || !q->timer) {
		free(q);
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	q->in = in;
	q->rq = rq;
	rq->user = q;
	rq->ops = &quiet_ops;
	timer_arm(q->timer, 0);
}
