/* SPDX-License-Identifier: Apache-2.0 */
/* client/kept: responses of the server as structs, whose strings belong to the JSON stored with them. */
#include <stdlib.h>

#include "client/client.h"
#include "http/json.h"

const char *json_text_or_null(const json_t *o, const char *field)
{
	return json_string_value(json_object_get(o, field));
}

const char *json_text(const json_t *o, const char *field)
{
	const char *z = json_text_or_null(o, field);

	return z ? z : "";
}

int64_t json_number(const json_t *o, const char *field, int64_t otherwise)
{
	const json_t *v = json_object_get(o, field);
	int64_t n;

	if (json_is_string(v))
		return str_to_i64(str_of(json_string_value(v)), INT64_MIN, INT64_MAX, &n) < 0 ? otherwise : n;
	return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

const struct atoll_pair *kept_pairs(struct kept *k, json_t *object, size_t *ret_n)
{
	const struct atoll_pair *first = k->next_pair;
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value) *k->next_pair++ = (struct atoll_pair) { name,
		json_is_string(value) ? json_string_value(value) : "" };
	*ret_n = (size_t)(k->next_pair - first);
	return first;
}

static json_t *item_at(json_t *root, size_t i)
{
	return json_is_array(root) ? json_array_get(root, i) : root;
}

json_t *kept_item(const struct kept *k, size_t i)
{
	return item_at(k->root, i);
}

int kept_new(json_t *root, size_t item_size, kept_fill *fill, const char *pairs_of, struct kept **ret,
    struct atoll_error *e)
{
	struct kept *k = calloc(1, sizeof(*k));
	size_t n_pairs = 0;

	if (!k) {
		json_decref(root);
		return client_no_memory(e);
	}
	k->root = root;
	k->n = json_is_array(root) ? json_array_size(root) : 1;
	for (size_t i = 0; pairs_of && i < k->n; i++)
		n_pairs += json_object_size(json_object_get(item_at(root, i), pairs_of));
	k->items = calloc(k->n + 1, item_size);
	k->pairs = k->next_pair = calloc(n_pairs + 1, sizeof(*k->pairs));
	k->text = json_dumps(root, JSON_COMPACT);
	if (!k->items || !k->pairs || !k->text) {
		kept_free(k);
		return client_no_memory(e);
	}
	for (size_t i = 0; i < k->n; i++)
		fill(k, (char *)k->items + i * item_size, item_at(root, i));
	k->v = k->items;
	k->json = k->text;
	*ret = k;
	return 0;
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	json_decref(k->root);
	free(k->items);
	free(k->more);
	free(k->pairs);
	free(k->text);
	free(k);
}
