/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/boxes: texts of a sandbox that are not to be shown, while calls come and go. */
#include <malloc.h>
#include <stdint.h>

#include "../client/fake.h"
#include "client/agent/redact.h"
#include "mcp/boxes.h"
#include "unit.h"

#define CALLS 5000

static struct fake server;
static struct boxes *boxes;
static struct box *lent; /* to a call that is never over */

static int setup(void **state)
{
	struct atoll *a;
	struct atoll_error e;

	(void)state;
	fake_start(&server);
	if (atoll_new(&(struct atoll_config) { .api_url = server.url, .api_key = "e2b_00" }, &a, &e) < 0)
		return -1;
	boxes = boxes_new(a, NULL, "k1");
	return boxes ? boxes_open(boxes, "i0000000000000000001", &lent, &e) : -1;
}

static int teardown(void **state)
{
	(void)state;
	boxes_put(boxes, lent);
	boxes_unref(boxes);
	fake_stop(&server);
	return 0;
}

static void hide(unsigned i)
{
	char text[32];

	(void)snprintf(text, sizeof text, "secret-number-%u", i);
	box_hide(boxes, lent, (const char *const[]) { text }, 1);
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
	assert_null(box_secrets(boxes, NULL));
	assert_null(box_secrets(boxes, lent));
	hide(1);
	const char *const *before = box_secrets(boxes, lent);

	for (unsigned i = 2; i < 10; i++)
		hide(i);
	const char *const *after = box_secrets(boxes, lent);

	assert_string_equal(before[0], "secret-number-1");
	assert_null(before[1]);
	assert_true(has(after, "secret-number-1") && has(after, "secret-number-9"));
	box_secrets_put(boxes, before);
	box_secrets_put(boxes, after);
	box_secrets_put(boxes, NULL);
}

static void what_is_known_already_makes_no_list(void **state)
{
	(void)state;
	hide(1);
	const char *const *before = box_secrets(boxes, lent);

	hide(1);
	const char *const *after = box_secrets(boxes, lent);

	assert_ptr_equal(before, after);
	box_secrets_put(boxes, before);
	box_secrets_put(boxes, after);
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
	const char *const *list = box_secrets(boxes, lent);

	while (list[n])
		n++;
	assert_int_equal(n, SECRETS_MAX);
	assert_true(has(list, "secret-number-4999") && !has(list, "secret-number-1"));
	box_secrets_put(boxes, list);
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
