/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/selftest_bombs: one sandbox exhausts a resource. While it holds the resource, and after it is killed, its
 * neighbour, the server and a new sandbox must work. The benchmarks, not this test, measure how fast. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/host/selftest.h"

#define TAKE_LIMIT_S 60
#define STEP_LIMIT_S 60 /* per step; generous, because slow is not broken */

static const char promise[] = "what one sandbox takes is bound, and others do not miss it";

struct bombs {
	struct selftest *t;
	struct atoll_sandbox *neighbour;
	char taken[120];
};

static int on_line(void *user, char *line)
{
	struct bombs *b = user;

	if (strncmp(line, "taken\t", 6) != 0)
		return 0;
	(void)snprintf(b->taken, sizeof b->taken, "%s", line + 6);
	return 1;
}

static int no_line(void *user, char *line)
{
	(void)user;
	(void)line;
	return 0;
}

static int works(struct atoll_sandbox *sb, struct err *e)
{
	const char *const argv[] = { "/bin/sh", "-c", "echo x > /tmp/escape-works && test -s /tmp/escape-works", NULL };
	struct job j = { .argv = argv, .limit_s = STEP_LIMIT_S };
	int status = job_run(sb, &j, no_line, NULL, e);

	return status == 0 ? 0 : e->no ? -e->no : err_set(e, EIO, "a command exited with status %d", status);
}

/* Checks that the neighbour, the server and a new sandbox work. */
static int others_work(struct bombs *b, struct err *e)
{
	static const struct atoll_pair mark = SELFTEST_MARK;
	struct atoll_spec spec = { .template_id = b->t->template_id,
		.timeout_s = 300,
		.metadata = &mark,
		.n_metadata = 1 };
	struct atoll_sandbox *next = NULL;
	struct atoll_error why;

	if (works(b->neighbour, e) < 0)
		return err_wrap(e, "the neighbour");
	if (atoll_health(b->t->a, &why) < 0)
		return err_set(e, why.no, "the server: %s", why.text);
	if (atoll_sandbox_create(b->t->a, &spec, &next, &why) < 0)
		return err_set(e, why.no, "the next sandbox: %s", why.text);
	int r = works(next, e);

	place_end(b->t, next);
	return r < 0 ? err_wrap(e, "the next sandbox") : 0;
}

static void one(struct bombs *b, const char *bomb)
{
	const char *const argv[] = { PLACE "/escape", "bomb", bomb, NULL };
	struct job j = { .argv = argv, .as_user = "root" };
	struct err e = ERR_INIT, ignored = ERR_INIT;
	char name[64];
	struct atoll_sandbox *sb = place_new(b->t, false, &e);
	struct guest *g = sb ? guest_start(sb, &j, on_line, b, &e) : NULL;

	(void)snprintf(name, sizeof name, "bombs/%s", bomb);
	b->taken[0] = '\0';
	/* A limit may kill the bomb before it reports what it took. This is recorded instead. */
	if (g && guest_wait(g, TAKE_LIMIT_S, &ignored) < 0)
		(void)snprintf(b->taken, sizeof b->taken, "the sandbox was killed (%.80s)", ignored.text);
	if (g && others_work(b, &e) == 0) {
		guest_free(g);
		place_end(b->t, sb);
		g = NULL;
		sb = NULL;
		if (others_work(b, &e) < 0)
			(void)err_wrap(&e, "after the attack");
	}
	guest_free(g);
	place_end(b->t, sb);
	if (!b->taken[0])
		selftest_note(b->t, UNCLEAR, name, promise, "bomb/root", "%s", e.text);
	else
		selftest_note(b->t, e.no ? BROKEN : HELD, name, promise, "bomb/root", "%s%s%s", b->taken,
		    e.no ? "; " : "", e.text);
}

struct names {
	char v[64][24];
	size_t n;
};

static int on_name(void *user, char *line)
{
	struct names *names = user;

	if (names->n < ARRAY_LEN(names->v))
		(void)snprintf(names->v[names->n++], sizeof names->v[0], "%.*s", (int)strcspn(line, "\t"), line);
	return 0;
}

int selftest_bombs(struct selftest *t, struct err *e)
{
	const char *const argv[] = { PLACE "/escape", "bombs", NULL };
	struct job ask = { .argv = argv, .limit_s = 30 };
	struct bombs b = { .t = t };
	struct names names = { .n = 0 };

	b.neighbour = place_new(t, false, e);
	if (!b.neighbour)
		return -e->no;
	if (job_run(b.neighbour, &ask, on_name, &names, e) != 0 || names.n == 0) {
		place_end(t, b.neighbour);
		return err_set(e, EIO, "the suite lists no bombs");
	}
	for (size_t i = 0; i < names.n; i++) {
		char name[64];

		(void)snprintf(name, sizeof name, "bombs/%s", names.v[i]);
		if (selftest_wants(t, name))
			one(&b, names.v[i]);
	}
	place_end(t, b.neighbour);
	return 0;
}
