/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/page: 'limit' and 'nextToken' of a list that fits into memory, and the token of the next page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define PAGE_ID_SIZE 48
#define PAGE_HEADER_SIZE 128

struct page {
	size_t limit;
	bool begins;              /* no token: start with the first entry */
	size_t at;                /* number of entries on earlier pages */
	char after[PAGE_ID_SIZE]; /* id of the last of them */
};

/* -EINVAL, with a message for the client */
int page_read(struct str query, size_t limit_max, struct page *ret, struct err *e);

/* Returns the index of the first entry of the page: after the entry that the token names, or at its old place if
 * that entry has been deleted. */
size_t page_from(const struct page *p, size_t n, const char *(*id_of)(const void *list, size_t i), const void *list);
/* "" on the last page. end: index after the last entry shown; last: id of that entry. */
void page_header(size_t end, size_t n, const char *last, char ret[PAGE_HEADER_SIZE]);
