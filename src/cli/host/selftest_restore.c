/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/selftest_restore: a second sandbox changes a shared volume while a fork of the first is restored. The
 * files that the fork has open must be those of the volume, whatever symbolic links were planted; otherwise the
 * restore must fail. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/host/selftest.h"

#define NAME "restore/volume-link"
#define GUARANTEE "what a restore opens in a volume is of that volume"
#define WHERE "forked/root"
#define FORKS 6
#define LIMIT_S 120
#define VOLUME_MB 64
#define MOUNTED "/mnt/atoll-escape"

struct attempt {
	struct selftest *t;
	char volume[48];
	struct atoll_sandbox *holder, *swapper;
	struct guest *holds;
	char said[200];
};

static int on_ready(void *user, char *line)
{
	(void)user;
	return strcmp(line, "ready") == 0;
}

static int on_said(void *user, char *line)
{
	struct attempt *at = user;

	(void)str_copy(at->said, sizeof at->said, str_of(line));
	return 0;
}

static struct guest *begin(struct atoll_sandbox *sb, const char *what, struct err *e)
{
	const char *const argv[] = { "python3", PLACE "/restore.py", what, MOUNTED, NULL };
	struct job j = { .argv = argv, .as_user = "root", .limit_s = LIMIT_S };
	struct guest *g = guest_start(sb, &j, on_ready, NULL, e);

	if (g && guest_wait(g, LIMIT_S, e) < 0) {
		guest_free(g);
		return NULL;
	}
	return g;
}

static int set_up(struct attempt *at, struct err *e)
{
	struct atoll_volumes *v = NULL;
	struct atoll_error why;

	(void)snprintf(at->volume, sizeof at->volume, "atoll-selftest-%d", (int)getpid());
	if (atoll_volume_create(at->t->a, at->volume, VOLUME_MB, &v, &why) < 0) {
		at->volume[0] = '\0';
		return err_set(e, why.no, "create a volume: %s", why.text);
	}
	atoll_volumes_free(v);
	const struct atoll_pair mount = { at->volume, MOUNTED };

	at->holder = place_with_volume(at->t, &mount, e);
	at->swapper = at->holder ? place_with_volume(at->t, &mount, e) : NULL;
	at->holds = at->swapper ? begin(at->holder, "hold", e) : NULL;
	return at->holds ? 0 : -1;
}

/* Checks the open files of the fork's process. Returns 1 if they are its own, 0 if not, -1 if the check failed. */
static int look(struct attempt *at, const char *id, struct err *e)
{
	const char *const argv[] = { "python3", PLACE "/restore.py", "look", MOUNTED, NULL };
	struct job j = { .argv = argv, .as_user = "root", .limit_s = LIMIT_S };
	struct atoll_sandbox *sb = NULL;
	struct atoll_error why;
	int status = -1;

	at->said[0] = '\0';
	if (atoll_sandbox_open(at->t->a, id, &sb, &why) < 0)
		return err_set(e, why.no, "%s", why.text), -1;
	status = job_run(sb, &j, on_said, at, e);
	place_end(at->t, sb);
	return status == 0 && at->said[0] ? strcmp(at->said, "own") == 0 : -1;
}

/* Returns 1 if the fork was restored with its own files, 0 if with others, -1 if it was not restored or does not
 * respond. */
static int fork_once(struct attempt *at, struct err *e)
{
	struct atoll_fork_spec spec = { .count = 1, .timeout_s = LIMIT_S };
	struct atoll_forks *forks = NULL;
	struct atoll_error why;
	int r = -1;

	if (atoll_fork(at->t->a, atoll_sandbox_id(at->holder), &spec, &forks, &why) < 0)
		(void)err_set(e, why.no, "%s", why.text);
	else if (forks->n == 1 && forks->v[0].id)
		r = look(at, forks->v[0].id, e);
	else
		(void)err_set(e, EIO, "%s", forks->n == 1 ? forks->v[0].error : "no answer");
	atoll_forks_free(forks);
	return r;
}

/* Forks while the volume is changed after the dump. Returns -2 if the volume could not be changed. */
static int fork_swapped(struct attempt *at, struct err *e)
{
	const char *const argv[] = { "python3", PLACE "/restore.py", "back", MOUNTED, NULL };
	struct job j = { .argv = argv, .as_user = "root", .limit_s = LIMIT_S };
	struct guest *swaps = begin(at->swapper, "swap", e);

	if (!swaps)
		return -2;
	int r = fork_once(at, e);

	if (job_run(at->swapper, &j, on_said, at, e) != 0 && r != 0)
		r = -2;
	guest_free(swaps);
	return r;
}

static void attack(struct attempt *at, struct err *e)
{
	unsigned own = 0, refused = 0;
	int r = -1;

	for (unsigned i = 0; i < FORKS && r != 0 && r != -2; i++) {
		r = fork_swapped(at, e);
		own += r == 1;
		refused += r == -1;
	}
	if (r == 0)
		selftest_note(at->t, BROKEN, NAME, GUARANTEE, WHERE, "%s", at->said);
	else if (r == -2)
		selftest_note(at->t, UNCLEAR, NAME, GUARANTEE, WHERE, "the volume is not changed: %s", e->text);
	else
		selftest_note(at->t, HELD, NAME, GUARANTEE, WHERE, "%u came back with their own, %u did not come back",
		    own, refused);
}

void selftest_restore(struct selftest *t)
{
	struct attempt at = { .t = t };
	struct err e = ERR_INIT;
	struct atoll_error why;

	if (!selftest_wants(t, NAME))
		return;
	int r = set_up(&at, &e) < 0 ? -1 : fork_once(&at, &e); /* control: the volume is not changed yet */

	if (r < 0)
		selftest_note(t, at.holds ? SKIPPED : UNCLEAR, NAME, GUARANTEE, WHERE, "%s", e.text);
	else if (r == 0)
		selftest_note(t, UNCLEAR, NAME, GUARANTEE, WHERE, "an untouched volume: %s", at.said);
	else
		attack(&at, &e);
	guest_free(at.holds);
	place_end(t, at.swapper);
	place_end(t, at.holder);
	if (at.volume[0] && atoll_volume_remove(t->a, at.volume, &why) < 0)
		selftest_note(t, UNCLEAR, NAME, GUARANTEE, WHERE, "remove volume '%s': %s", at.volume, why.text);
}
