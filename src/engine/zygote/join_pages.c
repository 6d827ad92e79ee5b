/* SPDX-License-Identifier: Apache-2.0 */
/* join_pages: which pages of the shared file a zygote has mapped; part of the library join_lib.
 *
 * A copy gets the page tables of the zygote. For a page that is not in them it takes a fault, and the kernel then maps
 * the pages around it as well: sixteen entries of which one is used, each of which the next fork copies and each exit
 * removes. So the zygote lets a copy that ends soon run what every copy runs first, and finds out which pages that
 * touches. It then maps these, and no others.
 *
 * While pages are told apart, every second one has another advice, and so each a mapping of its own: the kernel maps
 * nothing around a fault beyond the mapping that it is in. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/zygote/join_lib.h"

#define PAGE 4096u
#define BATCH 512u
#define PRESENT (1ull << 63)
#define OF_FILE (1ull << 61) /* not a page of our own */

typedef int page_fn(void *user, uintptr_t page, uint64_t entry);

/* Calls fn for each page of the file's mappings, until it returns another number than 0. */
static int each_page(page_fn *fn, void *user)
{
	uint64_t entries[BATCH];
	uintptr_t from, to;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && memory_shared(i, &from, &to); i++) {
		for (uintptr_t at = from; r == 0 && at < to; at += BATCH * PAGE) {
			size_t n = (to - at) / PAGE < BATCH ? (to - at) / PAGE : BATCH;
			ssize_t want = (ssize_t)(n * sizeof *entries);

			if (pread(fd, entries, (size_t)want, (off_t)(at / PAGE * sizeof *entries)) != want)
				r = -EIO;
			for (size_t k = 0; r == 0 && k < n; k++)
				r = fn(user, at + k * PAGE, entries[k]);
		}
	}
	if (fd >= 0)
		(void)close(fd);
	return r;
}

static int advise(uintptr_t from, size_t n, int advice)
{
	return madvise((void *)from, n, advice) < 0 ? -errno : 0;
}

static int forget(void *user, uintptr_t page, uint64_t entry)
{
	(void)user;
	return (entry & PRESENT) && (entry & OF_FILE) ? advise(page, PAGE, MADV_DONTNEED) : 0;
}

static int part_page(void *user, uintptr_t page, uint64_t entry)
{
	(void)user, (void)entry;
	return (page / PAGE) % 2 ? advise(page, PAGE, MADV_RANDOM) : 0;
}

static int join_pages(void)
{
	uintptr_t from, to;
	int r = 0;

	for (size_t i = 0; r == 0 && memory_shared(i, &from, &to); i++)
		r = advise(from, to - from, MADV_NORMAL);
	return r;
}

int atoll_pages_apart(void)
{
	int r = each_page(forget, NULL);

	return r < 0 ? r : each_page(part_page, NULL);
}

struct list {
	uint64_t *pages;
	size_t n, max;
};

static int note(void *user, uintptr_t page, uint64_t entry)
{
	struct list *l = user;

	if (!(entry & PRESENT))
		return 0;
	if (l->n == l->max)
		return -E2BIG;
	l->pages[l->n++] = page;
	return 0;
}

int atoll_pages_used(uint64_t *ret, size_t max)
{
	struct list l = { .pages = ret, .max = max };
	int r = each_page(note, &l);

	return r < 0 ? r : (int)l.n;
}

int atoll_pages_take(const uint64_t *pages, size_t n)
{
	int r = atoll_pages_apart();

	for (size_t i = 0; r == 0 && i < n; i++)
		(void)*(volatile const char *)(uintptr_t)pages[i];
	int joined = join_pages(); /* also if not all could be parted */

	return r < 0 ? r : joined;
}
