/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/sandbox_cache: texts of a sandbox that are not to be shown, while calls come and go. */
#include <malloc.h>
#include <stdint.h>

#include "../client/fake.h"
#include "client/agent/redact.h"
#include "mcp/sandbox_cache.h"
#include "unit.h"

#define CALLS 5000

static struct fake server;
static struct sandbox_cache *cache;
static struct cached_sandbox *lent; /* to a call that is never over */

static int setup(void **state)
{
	struct atoll *a;
	struct atoll_error e;

	(void)state;
	fake_start(&server);
	if (atoll_new(&(struct atoll_config) { .api_url = server.url, .api_key = "e2b_00" }, &a, &e) < 0)
		return -1;
	cache = sandbox_cache_new(a, NULL, "k1");
	return cache ? sandbox_cache_open(cache, "i0000000000000000001", &lent, &e) : -1;
}

static int teardown(void **state)
{
	(void)state;
	sandbox_cache_put(cache, lent);
	sandbox_cache_unref(cache);
	fake_stop(&server);
	return 0;
}

static void hide(unsigned i)
{
	char text[32];

	(void)snprintf(text, sizeof text, "secret-number-%u", i);
	sandbox_cache_hide(cache, lent, (const char *const[]) { text }, 1);
}

static bool has(const char *const *list, const char *text)
{
	for (; list && *list; list++) {
		if (strcmp(*list, text) == 0)
			return true;
	}
	return false;
}

static void a_list_that_was_taken_stays_as_it_was(void **state)
{
	(void)state;
	assert_null(sandbox_cache_secrets(cache, NULL));
	assert_null(sandbox_cache_secrets(cache, lent));
	hide(1);
	const char *const *before = sandbox_cache_secrets(cache, lent);

	for (unsigned i = 2; i < 10; i++)
		hide(i);
	const char *const *after = sandbox_cache_secrets(cache, lent);

	assert_string_equal(before[0], "secret-number-1");
	assert_null(before[1]);
	assert_true(has(after, "secret-number-1") && has(after, "secret-number-9"));
	sandbox_cache_secrets_put(cache, before);
	sandbox_cache_secrets_put(cache, after);
	sandbox_cache_secrets_put(cache, NULL);
}

static void what_is_known_already_makes_no_list(void **state)
{
	(void)state;
	hide(1);
	const char *const *before = sandbox_cache_secrets(cache, lent);

	hide(1);
	const char *const *after = sandbox_cache_secrets(cache, lent);

	assert_ptr_equal(before, after);
	sandbox_cache_secrets_put(cache, before);
	sandbox_cache_secrets_put(cache, after);
}

/* Others bring a new secret each, and one call never ends: only the newest texts are kept, and only once. */
static void lists_do_not_pile_up_during_a_long_call(void **state)
{
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * SECRETS_MAX; i++)
		hide(i);
	size_t before = mallinfo2().uordblks;

	for (unsigned i = 0; i < CALLS; i++)
		hide(i);
	assert_true(mallinfo2().uordblks < before + 64 * 1024);
	const char *const *list = sandbox_cache_secrets(cache, lent);

	while (list[n])
		n++;
	assert_int_equal(n, SECRETS_MAX);
	assert_true(has(list, "secret-number-4999") && !has(list, "secret-number-1"));
	sandbox_cache_secrets_put(cache, list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_list_that_was_taken_stays_as_it_was, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_known_already_makes_no_list, setup, teardown),
		cmocka_unit_test_setup_teardown(lists_do_not_pile_up_during_a_long_call, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
