/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_guard: tokens are added by time and removed per frame. */
#include "http/h2_guard.h"

void h2_guard_init(struct h2_guard *g, uint64_t now_ms)
{
	*g = (struct h2_guard) { .purse = H2_PURSE, .at_ms = now_ms };
}

void h2_guard_earn(struct h2_guard *g, uint32_t n)
{
	g->purse = n < H2_PURSE - g->purse ? g->purse + n : H2_PURSE;
}

bool h2_guard_pay(struct h2_guard *g, uint64_t now_ms, uint32_t cost)
{
	uint64_t income = (now_ms - g->at_ms) * H2_INCOME / 1000;

	if (income > 0) {
		g->at_ms = now_ms;
		h2_guard_earn(g, income < H2_PURSE ? (uint32_t)income : H2_PURSE);
	}
	if (g->purse < cost)
		return false;
	g->purse -= cost;
	return true;
}
