/* SPDX-License-Identifier: Apache-2.0 */
/* client/kept: structs made of what a server sent, whatever that is. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "client/client.h"
#include "unit.h"

struct item {
	const char *name, *note;
	int64_t number;
	const struct atoll_pair *pairs;
	size_t n_pairs;
};

static void fill(struct kept *k, void *p, json_t *o)
{
	struct item *i = p;

	*i = (struct item) { .name = json_text(o, "name"),
		.note = json_text_or_null(o, "note"),
		.number = json_number(o, "number", -7) };
	i->pairs = kept_pairs(k, json_object_get(o, "pairs"), &i->n_pairs);
}

static struct kept *make(const char *text)
{
	struct atoll_error e;
	struct kept *k = NULL;

	assert_int_equal(kept_new(json_loads(text, 0, NULL), sizeof(struct item), fill, "pairs", &k, &e), 0);
	return k;
}

static void arrays_become_items(void **state)
{
	struct kept *k = make(
	    "[{\"name\":\"a\",\"note\":\"n\",\"number\":3,\"pairs\":{\"x\":\"1\",\"y\":\"2\"}},{\"name\":\"b\","
	    "\"note\":null,\"number\":\"44\",\"pairs\":{\"z\":\"3\"}}]");
	const struct item *v = k->v;

	(void)state;
	assert_int_equal(k->n, 2);
	assert_string_equal(v[0].name, "a");
	assert_string_equal(v[0].note, "n");
	assert_int_equal(v[0].number, 3);
	assert_int_equal(v[0].n_pairs, 2);
	assert_string_equal(v[0].pairs[1].value, "2");
	assert_null(v[1].note);
	assert_int_equal(v[1].number, 44);
	assert_int_equal(v[1].n_pairs, 1);
	assert_string_equal(v[1].pairs[0].name, "z");
	assert_true(k->json[0] == '[');
	kept_free(k);
}

static void an_object_is_one_item(void **state)
{
	struct kept *k = make("{\"name\":\"a\"}");

	(void)state;
	assert_int_equal(k->n, 1);
	assert_string_equal(((const struct item *)k->v)->name, "a");
	assert_string_equal(k->json, "{\"name\":\"a\"}");
	kept_free(k);
	k = make("[]");
	assert_int_equal(k->n, 0);
	kept_free(k);
}

static void wrong_types_count_as_missing(void **state)
{
	struct kept *k = make(
	    "[7,null,\"text\",{\"name\":5,\"note\":[],\"number\":\"x\",\"pairs\":\"p\"},{\"pairs\":{\"k\":1}}]");
	const struct item *v = k->v;

	(void)state;
	for (size_t i = 0; i < k->n; i++) {
		assert_string_equal(v[i].name, "");
		assert_null(v[i].note);
		assert_int_equal(v[i].number, -7);
	}
	assert_int_equal(v[3].n_pairs, 0);
	assert_string_equal(v[4].pairs[0].value, "");
	kept_free(k);
	kept_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_become_items),
		cmocka_unit_test(an_object_is_one_item),
		cmocka_unit_test(wrong_types_count_as_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
