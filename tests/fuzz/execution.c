/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what servers send to libatoll while code or a command runs, in any cut, and what git writes: read within
 * limits, strings that end. */
#include <string.h>

#include "client/event.h"
#include "client/execution.h"
#include "client/git_status.h"
#include "fuzz.h"

static void lines(const uint8_t *data, size_t size, size_t step)
{
	struct execution *x = execution_new(NULL, 1 << 20);
	int rc = 0;

	MUST(x);
	for (size_t at = 0; rc == 0 && at < size; at += step)
		rc = execution_feed(x, data + at, size - at < step ? size - at : step);
	struct atoll_execution *p = execution_public(x);

	MUST(p && p->out[p->n_out] == '\0' && p->err[p->n_err] == '\0');
	for (size_t i = 0; i < p->n_results; i++)
		MUST(p->results[i] && (p->results[i]->n_extra == 0 || p->results[i]->extra[0].value));
	free(atoll_execution_json(p));
	execution_free(x);
}

static void envelopes(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	struct buf out = BUF_INIT(1 << 20);
	struct envelope env;
	struct event ev;

	while (envelope_parse(&in, &env) == 1) {
		if (event_parse(&env, &ev, &out) == 0 && ev.kind == EVENT_ERROR)
			MUST(event_errno(&ev) > 0 && memchr(ev.message, '\0', sizeof(ev.message)));
	}
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct atoll_git_status *s = git_status_parse((struct str) { (const char *)data, size });

	MUST(s);
	for (size_t i = 0; i < s->n; i++)
		MUST(s->v[i].path && strlen(s->v[i].path) <= size);
	atoll_git_status_free(s);
	lines(data, size, 7);
	lines(data, size, size + 1);
	envelopes(data, size);
	return 0;
}
