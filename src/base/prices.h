/* SPDX-License-Identifier: Apache-2.0 */
/* prices: the operator's prices for usage, as words of the form name=value: "vcpu_hour=0.05 gib_hour=0.016
 * egress_gib=0.09 currency=EUR". A price that is not given is 0. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define PRICES_CURRENCY_SIZE 8

struct prices {
	bool set; /* false: no prices, and no costs are shown */
	double vcpu_hour, gib_hour, egress_gib;
	char currency[PRICES_CURRENCY_SIZE]; /* three to seven capital letters; "" if none is named */
};

int prices_parse(struct str text, struct prices *ret); /* -EINVAL */
