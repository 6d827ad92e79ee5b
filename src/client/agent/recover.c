/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/recover: classifies a failure: what to do about it, and whether to retry.
 *
 * Code is not run twice, because it may have done half of its work. Only a call that failed before the server started
 * it is retried. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define RETRIES_MAX 100
#define TIMEOUT_MAX_MS 86400000
#define PAUSE_MAX_MS 5000

enum kind { KIND_TIMEOUT, KIND_MEMORY, KIND_SANDBOX, KIND_SERVICE, KIND_LIMIT, KIND_REFUSED, KIND_OTHER };

static const struct {
	const char *type, *remedy;
} kinds[] = {
	[KIND_TIMEOUT] = { "TIMEOUT",
	    "The code was interrupted; variables of earlier cells are intact. Split the work into smaller steps, or "
	    "set a longer timeout." },
	[KIND_MEMORY] = { "MEMORY_LIMIT",
	    "The code needed more memory than the sandbox has and was killed. Process less data at a time, free memory "
	    "that is not needed, or request a higher memory limit." },
	[KIND_SANDBOX] = { "SANDBOX_UNAVAILABLE",
	    "The sandbox has ended. Call again with the same session: it continues in a new sandbox, without earlier "
	    "variables." },
	[KIND_SERVICE] = { "SERVICE_UNAVAILABLE",
	    "The server could not be reached. Nothing was run. Wait a moment and try again; until then, do work that "
	    "needs no code." },
	[KIND_LIMIT] = { "LIMIT_REACHED",
	    "A limit of this key is reached. If it is the request rate, wait a moment; otherwise end a session or "
	    "sandbox that is no longer needed. Then try again." },
	[KIND_REFUSED] = { "REFUSED",
	    "The server refused the request. Change what the message names; retrying the same request does not help." },
	[KIND_OTHER] = { "OTHER", "Read the cause. If it names nothing to change, try once more in a new session." },
};

static bool is_transport(int no, int status)
{
	if (status)
		return status == 503;
	return no == ECONNREFUSED || no == ECONNRESET || no == EHOSTUNREACH || no == EHOSTDOWN || no == ENOTCONN ||
	    no == EPIPE;
}

/* True if the server responded but did not start the call in time: no code ran that could have been slow. */
static bool is_late(const struct atoll_error *e)
{
	return e->no == ETIMEDOUT && e->status == 504;
}

int client_late(int rc, struct atoll_error *e)
{
	if (rc == -ETIMEDOUT && e->status == 0)
		e->status = 504;
	return rc;
}

static bool says_memory(const char *text)
{
	return strcasestr(text, "out of memory") || strcasestr(text, "memory limit") || strcasestr(text, "ENOMEM");
}

static enum kind kind_of(const struct atoll_error *e)
{
	if (e->no == ENOMEM || says_memory(e->text))
		return KIND_MEMORY;
	if (is_late(e))
		return KIND_SERVICE;
	if (e->no == ETIMEDOUT)
		return KIND_TIMEOUT;
	if (e->no == ESRCH || e->status == 502 || (e->no == ENOENT && strstr(e->text, "sandbox")))
		return KIND_SANDBOX;
	if (is_transport(e->no, e->status))
		return KIND_SERVICE;
	if (e->status == 429 || e->no == EAGAIN || e->no == EDQUOT)
		return KIND_LIMIT;
	if ((e->status >= 400 && e->status < 500) || e->no == EINVAL || e->no == E2BIG || e->no == EACCES ||
	    e->no == EPERM)
		return KIND_REFUSED;
	return KIND_OTHER;
}

void atoll_failure_of(const struct atoll_error *why, const char *session_id, const char *context, unsigned timeout_ms,
    struct atoll_failure *ret)
{
	enum kind k = kind_of(why);

	*ret = (struct atoll_failure) {
		.type = kinds[k].type,
		.remedy = kinds[k].remedy,
		.no = why->no,
		.status = why->status,
		.transport = k == KIND_SERVICE,
	};
	(void)snprintf(ret->session_id, sizeof ret->session_id, "%s", session_id ? session_id : "");
	(void)snprintf(ret->context, sizeof ret->context, "%s", context ? context : "");
	if (k == KIND_TIMEOUT && timeout_ms)
		(void)snprintf(ret->cause, sizeof ret->cause, "Execution timed out after %u ms", timeout_ms);
	else
		(void)snprintf(ret->cause, sizeof ret->cause, "%s", why->text);
	(void)snprintf(ret->message, sizeof ret->message, "E2B execution failed: %s", ret->cause);
}

char *atoll_failure_json(const struct atoll_failure *f)
{
	autojson json_t *j = json_pack("{s:s,s:s,s:s?,s:s,s:s,s:s,s:s?,s:s?}", "name", "E2BExecutionError", "type",
	    f->type, "code", f->code, "message", f->message, "cause", f->cause, "remedy", f->remedy, "sessionId",
	    *f->session_id ? f->session_id : NULL, "context", *f->context ? f->context : NULL);

	return j ? json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
}

/* --- retries --- */

static int env_number(const char *name, uint64_t min, uint64_t max, unsigned *ret, struct atoll_error *e)
{
	const char *z = getenv(name);
	uint64_t v;

	if (!z || !*z)
		return 0;
	if (str_to_u64(str_of(z), max, &v) < 0 || v < min)
		return client_fail(e, EINVAL, 0, "%s must be an integer from %llu to %llu, not '%.40s'", name,
		    (unsigned long long)min, (unsigned long long)max, z);
	*ret = (unsigned)v;
	return 0;
}

int atoll_retry_env(struct atoll_retry *ret, struct atoll_error *e)
{
	NEED(e, ret);
	struct atoll_retry r = ATOLL_RETRY_DEFAULT;

	if (env_number("E2B_MAX_RETRIES", 0, RETRIES_MAX, &r.max_retries, e) < 0 ||
	    env_number("E2B_TIMEOUT", 1, TIMEOUT_MAX_MS, &r.timeout_ms, e) < 0)
		return -e->no;
	*ret = r;
	return 0;
}

static void pause_ms(unsigned ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (ms && nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

int atoll_retry_run(const struct atoll_retry *r, struct atoll_breaker *b, atoll_attempt *fn, void *user,
    unsigned *ret_tries, struct atoll_error *e)
{
	NEED(e, r && fn);
	unsigned wait = r->pause_ms;

	for (unsigned n = 1;; n++) {
		bool begun = false;

		*e = (struct atoll_error) { 0 };
		if (b && atoll_breaker_enter(b, e) < 0)
			return -e->no;
		int rc = fn(user, &begun, e);
		bool transport = rc < 0 && is_transport(e->no, e->status);

		atoll_breaker_report(b, !transport && !(rc < 0 && is_late(e)));
		if (ret_tries)
			*ret_tries = n;
		if (!transport || begun || n > r->max_retries)
			return rc;
		pause_ms(wait < PAUSE_MAX_MS ? wait : PAUSE_MAX_MS);
		wait *= 2;
	}
}
