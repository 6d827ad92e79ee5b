/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/page: a token is "PLACE.ID". */
#include "front/util/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "http/url.h"

int page_read(struct str query, size_t limit_max, struct page *ret, struct err *e)
{
	autofree char *limit = NULL, *token = NULL;
	int no = query_get(query, "limit", &limit), no2 = query_get(query, "nextToken", &token);
	uint64_t n = limit_max;

	*ret = (struct page) { .begins = no2 == -ENOENT };
	if (no != -ENOENT && (no < 0 || str_to_u64(str_of(limit), limit_max, &n) < 0 || n == 0))
		return err_set(e, EINVAL, "query parameter 'limit' must be an integer from 1 to %zu", limit_max);
	ret->limit = (size_t)n;
	if (ret->begins)
		return 0;
	struct str rest = str_of(no2 == 0 ? token : "");
	struct str place = str_cut(&rest, '.');

	if (!rest.p || str_to_u64(place, INT32_MAX, &n) < 0 || !str_copy(ret->after, sizeof ret->after, rest))
		return err_set(e, EINVAL, "Invalid next token");
	ret->at = (size_t)n;
	return 0;
}

size_t page_from(const struct page *p, size_t n, const char *(*id_of)(const void *list, size_t i), const void *list)
{
	if (p->begins)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(id_of(list, i), p->after) == 0)
			return i + 1;
	}
	/* The entry was deleted, and all after it have moved up by one. */
	size_t place = p->at > 0 ? p->at - 1 : 0;

	return place < n ? place : n;
}

void page_header(size_t end, size_t n, const char *last, char ret[PAGE_HEADER_SIZE])
{
	ret[0] = '\0';
	if (end > 0 && end < n)
		(void)snprintf(ret, PAGE_HEADER_SIZE, "X-Next-Token: %zu.%s\r\n", end, last);
}
