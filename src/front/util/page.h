/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/page: 'limit' and 'nextToken' of a list that fits into memory, and the token of the page behind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define PAGE_ID_SIZE 48
#define PAGE_HEADER_SIZE 128

struct page {
	size_t limit;
	bool begins;              /* no token: from the first one on */
	size_t at;                /* how many came before */
	char after[PAGE_ID_SIZE]; /* the last one of them */
};

int page_read(struct str query, size_t limit_max, struct page *ret, struct err *e); /* -EINVAL, for the client */

/* Where the page begins: behind the one that the token names, or where that was if it is gone. */
size_t page_from(const struct page *p, size_t n, const char *(*id_of)(const void *list, size_t i), const void *list);
/* "" on the last page. `end` is behind the last one shown, whose id that is. */
void page_header(size_t end, size_t n, const char *last, char ret[PAGE_HEADER_SIZE]);
