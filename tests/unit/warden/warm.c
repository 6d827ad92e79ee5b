/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/warm: what fails is tried again, whatever the reason; what can never be is not. */
#include "warden/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop/loop.h"
#include "unit.h"
#include "warden/warden.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define FAILURES 2

static int tries = -1; /* a file that has a byte for each */

static int try_no(void)
{
	struct stat st;

	assert_int_equal(write(tries, "x", 1), 1);
	return fstat(tries, &st) == 0 ? (int)st.st_size : -1;
}

/* In the child of each try. */
static int fails_twice(struct engine *en, const char *key, struct err *e)
{
	(void)en;
	(void)key;
	return try_no() <= FAILURES ? err_set(e, ENOENT, "something else is missing") : 0;
}

static int never(struct engine *en, const char *key, struct err *e)
{
	(void)en;
	(void)key;
	(void)try_no();
	(void)err_set(e, ENOENT, "no such thing");
	return ENGINE_NEVER;
}

struct run {
	struct warden w;
	struct timer *tick, *end;
	off_t wanted;
};

static void on_tick(void *user)
{
	struct run *r = user;
	struct stat st;

	warm_tick(r->w.warm);
	if (fstat(tries, &st) == 0 && st.st_size >= r->wanted && !warm_busy(r->w.warm, KEY))
		loop_stop(r->w.loop);
	else
		timer_arm(r->tick, 20);
}

static void on_end(void *user)
{
	loop_stop(((struct run *)user)->w.loop);
}

static off_t tried(int (*warm)(struct engine *, const char *, struct err *), off_t wanted)
{
	static struct run r;
	struct engine_ops ops = { .warm = warm };
	char name[] = "/tmp/unit-warm-XXXXXX";
	struct stat st = { 0 };

	memset(&r, 0, sizeof r);
	r.wanted = wanted;
	r.w.registry_fd = r.w.pid_fd = r.w.dns_udp = r.w.dns_tcp = r.w.proxy = -1;
	r.w.ops = &ops;
	r.w.cfg.n_templates = 1;
	(void)strcpy(r.w.cfg.templates[0].key, KEY);
	tries = mkostemp(name, O_APPEND | O_CLOEXEC);
	assert_true(tries >= 0 && unlink(name) == 0);
	r.w.loop = loop_new();
	r.tick = timer_new(r.w.loop, on_tick, &r);
	r.end = timer_new(r.w.loop, on_end, &r);
	r.w.warm = warm_new(&r.w);
	timer_arm(r.tick, 20);
	timer_arm(r.end, 60000); /* for a failure alone */
	loop_run(r.w.loop);
	for (int i = 0; i < 20; i++)
		warm_wanted(r.w.warm, KEY); /* no sandbox that starts cold makes it try what is settled */
	warm_free(r.w.warm);
	timer_free(r.tick);
	timer_free(r.end);
	loop_free(r.w.loop);
	assert_int_equal(fstat(tries, &st), 0);
	close(tries);
	return st.st_size;
}

/* H5 */
static void a_failure_is_tried_again_whatever_the_reason(void **state)
{
	(void)state;
	assert_true(tried(fails_twice, FAILURES + 1) >= FAILURES + 1);
}

static void what_can_never_be_is_tried_once(void **state)
{
	(void)state;
	assert_int_equal(tried(never, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_tried_again_whatever_the_reason),
		cmocka_unit_test(what_can_never_be_is_tried_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
