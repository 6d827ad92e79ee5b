/* SPDX-License-Identifier: Apache-2.0 */
/* config/value: parses the value of one setting by its form, and says what a form accepts. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/prices.h"
#include "ipc/check.h"
#include "warden/config/key.h"

static int set_path(char *field, size_t size, struct str value)
{
	char cwd[PATH_MAX];

	if (value.n == 0 || memchr(value.p, '\0', value.n))
		return -EINVAL;
	while (value.n > 1 && value.p[value.n - 1] == '/')
		value.n--;
	if (value.p[0] == '/')
		return str_copy(field, size, value) ? 0 : -ENAMETOOLONG;
	if (!getcwd(cwd, sizeof cwd))
		return -errno;
	int n = snprintf(field, size, "%s/%.*s", cwd, STR_ARG(value));
	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* "2", "0.5", "1.25": thousandths of a core. */
static int parse_cpus(struct str v, uint64_t *ret)
{
	struct str rest = v;
	struct str whole = str_cut(&rest, '.');
	uint64_t w, f = 0;

	if (str_to_u64(whole, 100000, &w) < 0)
		return -EINVAL;
	if (rest.p) {
		if (rest.n < 1 || rest.n > 3 || str_to_u64(rest, 999, &f) < 0)
			return -EINVAL;
		for (size_t i = rest.n; i < 3; i++)
			f *= 10;
	}
	*ret = w * 1000 + f;
	return 0;
}

static int set_template(struct config *c, struct str value)
{
	struct str key = value;
	struct str name = str_cut(&key, '=');
	struct msg_template t = { 0 };

	if (c->n_templates == TEMPLATES_MAX)
		return -E2BIG;
	if (name.n == 0 || !key.p || !str_copy(t.name, sizeof t.name, name) || !str_copy(t.key, sizeof t.key, key) ||
	    !check_template_key(t.key))
		return -EINVAL;
	c->templates[c->n_templates++] = t;
	return 0;
}

/* Addresses and ranges, separated by commas or blanks. Ranges that are always closed cannot be opened here. */
static int set_ranges(struct inet_ranges *field, struct str value)
{
	uint32_t n = 0;

	while (value.p) {
		struct str item = str_trim(str_cut(&value, ','));

		while (item.p && item.n > 0) {
			struct str word = str_cut(&item, ' ');

			if (word.n == 0)
				continue;
			if (n == INET_RANGES_MAX)
				return -E2BIG;
			if (inet_parse(word, &field->v[n]) < 0 || inet_never_open(field->v[n]))
				return -EINVAL;
			n++;
		}
	}
	field->n = n;
	return 0;
}

/* One of a fixed list of words; the index of a word is the value of the enum. */
static int set_word(unsigned *field, const char *words, struct str value)
{
	struct str list = str_of(words), word;

	for (unsigned i = 0; (word = config_next_word(&list)).n; i++) {
		if (str_eq(word, value)) {
			*field = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Addresses of name servers, separated by commas or blanks; stored with commas. */
static int set_hosts(char *field, size_t size, struct str value)
{
	size_t n = 0, count = 0;

	while (value.p) {
		struct str item = str_trim(str_cut(&value, ','));

		while (item.p && item.n > 0) {
			struct str word = str_cut(&item, ' ');
			struct inet_range r;

			if (word.n == 0)
				continue;
			if (count++ == NAME_SERVERS_MAX)
				return -E2BIG;
			if (memchr(word.p, '/', word.n) || (inet_parse(word, &r) < 0 && !inet_is_v6(word)) ||
			    n + word.n + 2 > size)
				return -EINVAL;
			n += (size_t)snprintf(field + n, size - n, "%s%.*s", n ? "," : "", STR_ARG(word));
		}
	}
	return n ? 0 : -EINVAL;
}

static int set_flag(bool *field, struct str v)
{
	if (!str_is(v, "true") && !str_is(v, "false"))
		return -EINVAL;
	*field = str_is(v, "true");
	return 0;
}

int config_value_number(const struct config_key *k, struct str value, uint64_t *ret)
{
	uint64_t n;
	int r = k->form == FORM_CPUS ? parse_cpus(value, &n) : str_to_u64(value, UINT64_MAX, &n);

	if (r < 0)
		return r;
	if (n < k->min || n > k->max)
		return -ERANGE;
	*ret = n;
	return 0;
}

int config_value_set(struct config *c, const struct config_key *k, struct str value)
{
	void *field = (char *)c + k->at;
	struct prices prices;

	switch (k->form) {
	case FORM_TEXT:
		return value.n > 0 && str_copy(field, k->size, value) ? 0 : -EINVAL;
	case FORM_PATH:
		return set_path(field, k->size, value);
	case FORM_NUMBER:
	case FORM_CPUS:
		return config_value_number(k, value, field);
	case FORM_FLAG:
		return set_flag(field, value);
	case FORM_WORD:
		return set_word(field, k->words, value);
	case FORM_KEY:
		return str_copy(field, k->size, value) && check_template_key(field) ? 0 : -EINVAL;
	case FORM_HOSTS:
		return set_hosts(field, k->size, value);
	case FORM_PRICES:
		return prices_parse(value, &prices) == 0 && str_copy(field, k->size, value) ? 0 : -EINVAL;
	case FORM_TEMPLATE:
		return set_template(c, value);
	case FORM_RANGES:
		return set_ranges(field, value);
	case FORM_LIMITS:
		return config_set_template_limits(c, value);
	}
	return -EINVAL;
}

void config_value_words(const char *words, char *text, size_t size)
{
	struct str list = str_of(words), word = config_next_word(&list);
	size_t n = 0;

	for (const char *between = ""; word.n && n < size; between = list.n ? ", " : " or ") {
		n += (size_t)snprintf(text + n, size - n, "%s%.*s", between, STR_ARG(word));
		word = config_next_word(&list);
	}
}

int config_value_refuse(const struct config_key *k, struct str value, int r, struct err *e)
{
	static const char *const want[] = {
		[FORM_TEXT] = "a short text",
		[FORM_PATH] = "a path",
		[FORM_CPUS] = "a number of cores like 2 or 0.5",
		[FORM_FLAG] = "true or false",
		[FORM_TEMPLATE] = "NAME=KEY with a key of 32 hex digits",
		[FORM_KEY] = "a key of 32 hex digits",
		[FORM_HOSTS] = "IP addresses",
		[FORM_LIMITS] = "a template and limits like 'base memory_mb=512 max_memory_mb=1024'",
		[FORM_PRICES] = "prices like 'vcpu_hour=0.05 gib_hour=0.016 egress_gib=0.09 currency=EUR'",
		[FORM_RANGES] =
		    "IPv4 addresses and ranges, none of them of this host, of sandboxes, link-local or multicast",
	};
	char words[64];

	if (r == -E2BIG)
		return err_set(e, E2BIG, "%s: more than %d given", k->name,
		    k->form == FORM_RANGES      ? INET_RANGES_MAX
			: k->form == FORM_HOSTS ? NAME_SERVERS_MAX
						: TEMPLATES_MAX);
	if (k->form == FORM_NUMBER || (k->form == FORM_CPUS && r == -ERANGE))
		return err_set(e, EINVAL, "%s = '%.*s': wants a number from %llu to %llu%s", k->name, STR_ARG(value),
		    (unsigned long long)k->min, (unsigned long long)k->max, k->form == FORM_CPUS ? " thousandths" : "");
	if (k->form == FORM_WORD)
		config_value_words(k->words, words, sizeof words);
	return err_set(e, EINVAL, "%s = '%.*s': wants %s", k->name, STR_ARG(value),
	    k->form == FORM_WORD ? words : want[k->form]);
}
