/* SPDX-License-Identifier: Apache-2.0 */
/* control: /health, /envs, /init and quiet.
 *
 * The front configures the sandbox with POST /init
 * {envVars,defaultUser,defaultWorkdir,sandboxId,templateId,hostname,caBundle,textFromStdout,timestamp}. A field
 * that is absent stays unchanged. The request comes right after the start, again when a sandbox of the warm pool
 * is assigned to a client, and after a resume. A request with a timestamp that is not newer than the last applied
 * one is answered but changes nothing. */
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
#include "init/interp/interp.h"
#include "init/reply.h"
#include "init/template.h"
#include "init/trust.h"
#include "loop/loop.h"

#define INIT_BODY_MAX (1024 * 1024)
#define HOSTNAME_MAX 64
#define QUIET_MS 1 /* between the steps of quiet: time for connections that are already being closed */
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

struct setup { /* an /init body; NULL: absent */
	const char *user, *workdir, *sandbox, *template_id, *hostname, *timestamp, *ca;
	json_t *vars;
	uint64_t us;
	bool text_from_stdout;
};

/* *s holds the current values. */
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
		return; /* keep the old value */
	free(*at);
	*at = copy;
}

/* For programs inside that read these files instead of their environment. */
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

/* Sets one of our variables and writes the file of the same name; does nothing if the value is unchanged. */
static void tell(struct init *in, const char *name, const char *value)
{
	const char *had = json_string_value(json_object_get(in->env.fixed, name));

	if (!value || (in->set_up && had && strcmp(had, value) == 0))
		return;
	env_fix(&in->env, name, value);
	write_run_file(in, name, value);
}

/* The sandbox id has changed, so this sandbox is a copy of another one: gives it a machine id and random numbers
 * of its own. */
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

/* The settings of a built template take precedence over those of /init. */
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
	if (q->step == QUIET_MEANT) {
		http_server_drop_others(q->in->server, q->rq);
		gate_drop(&q->in->gate);
		interp_quiet(q->in);
	}
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

/* Closes all connections before the sandbox is frozen and written to disk, because connections to the outside
 * cannot be saved. The requesting connection is closed last, without an answer: when the front sees its end, no
 * other is left.
 *
 * The close is delayed. The requester may have given up long ago, frozen the sandbox and thawed it again; the
 * connections that are open now then belong to later requests. In that case the end of its connection follows the
 * request and is read in the loop iteration between the first and the second step, which cancels the rest. */
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
