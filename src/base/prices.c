/* SPDX-License-Identifier: Apache-2.0 */
/* prices: strict parsing; a price is digits with at most one decimal point, up to a million. */
#include "base/prices.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define WHOLE_MAX 1000000u
#define DECIMALS_MAX 9

static int parse_price(struct str s, double *ret)
{
	struct str rest = s, whole = str_cut(&rest, '.');
	uint64_t n, part = 0;
	double unit = 1;

	if (str_to_u64(whole, WHOLE_MAX, &n) < 0)
		return -EINVAL;
	if (rest.p && (rest.n == 0 || rest.n > DECIMALS_MAX))
		return -EINVAL;
	for (size_t i = 0; rest.p && i < rest.n; i++) {
		if (rest.p[i] < '0' || rest.p[i] > '9')
			return -EINVAL;
		part = part * 10 + (uint64_t)(rest.p[i] - '0');
		unit *= 10;
	}
	*ret = (double)n + (double)part / unit;
	return 0;
}

static int parse_currency(struct str s, char ret[PRICES_CURRENCY_SIZE])
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < 'A' || s.p[i] > 'Z')
			return -EINVAL;
	}
	return s.n >= 3 && str_copy(ret, PRICES_CURRENCY_SIZE, s) ? 0 : -EINVAL;
}

int prices_parse(struct str text, struct prices *ret)
{
	struct prices p = { .set = true };
	unsigned seen = 0;

	while (text.p) {
		struct str value = str_trim(str_cut(&text, ' '));

		if (value.n == 0)
			continue;
		struct str name = str_cut(&value, '=');
		const struct {
			const char *name;
			double *at;
		} known[] = { { "vcpu_hour", &p.vcpu_hour }, { "gib_hour", &p.gib_hour },
			{ "egress_gib", &p.egress_gib }, { "currency", NULL } };
		size_t i = 0;

		while (i < sizeof known / sizeof *known && !str_is(name, known[i].name))
			i++;
		if (i == sizeof known / sizeof *known || !value.p || (seen & 1u << i))
			return -EINVAL;
		seen |= 1u << i;
		if ((known[i].at ? parse_price(value, known[i].at) : parse_currency(value, p.currency)) < 0)
			return -EINVAL;
	}
	if (!(seen & 7u))
		return -EINVAL;
	*ret = p;
	return 0;
}
