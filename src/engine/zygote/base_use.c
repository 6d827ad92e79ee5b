/* SPDX-License-Identifier: Apache-2.0 */
/* base_use: records in a checkpoint which pages of a base file the sandbox has in use.
 *
 * To restore a page that a sandbox has a private copy of, the kernel first reads the page of the file, only to
 * overwrite it; pages that are not copied it reads when the sandbox continues. These pages are scattered over the
 * file, and for each the kernel reads megabytes around it while the restore waits. With the record, exactly these
 * pages are requested at once, a third of the file. It is only a hint: a checkpoint without it, or with a corrupt
 * one, is restored all the same. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/cgroup/cgroup.h"
#include "engine/zygote/base.h"

#define PAGE 4096u
#define GAP 16 /* pages: closer ones are merged into one read */
#define RANGES_MAX 8192
#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define AT_ONCE 512
/* Looks per page, over all mappings: the sandbox controls their number and sizes. */
#define LOOKS_MAX 64

struct use {
	uint8_t *used; /* a byte per page of the file */
	uint64_t pages;
	uint64_t left; /* pages that may still be examined */
	ino_t inode;
};

static void take_range(struct use *u, int pagemap, uint64_t start, uint64_t end, uint64_t first)
{
	uint64_t entry[AT_ONCE];

	if (first >= u->pages)
		return;
	if ((end - start) / PAGE > u->pages - first) /* a mapping may be larger than its file */
		end = start + (u->pages - first) * PAGE;
	for (uint64_t page = start / PAGE; page < end / PAGE;) {
		uint64_t want = end / PAGE - page < AT_ONCE ? end / PAGE - page : AT_ONCE;
		ssize_t n = pread(pagemap, entry, want * sizeof *entry, (off_t)(page * sizeof *entry));

		if (n < (ssize_t)sizeof *entry || u->left < want)
			return;
		u->left -= want;
		for (uint64_t i = 0; i < (uint64_t)n / sizeof *entry; i++) {
			uint64_t at = first + (page - start / PAGE) + i;

			if (entry[i] & (PRESENT | SWAPPED))
				u->used[at] = 1;
		}
		page += (uint64_t)n / sizeof *entry;
	}
}

static void take_process(struct use *u, int pid)
{
	char path[40], *line = NULL;
	size_t size = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
	autoclose int pagemap = open(path, O_RDONLY | O_CLOEXEC);

	(void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = pagemap < 0 ? NULL : fopen(path, "re");

	while (f && getline(&line, &size, f) > 0) {
		uint64_t start, end, offset, inode;

		if (strstr(line, BASE_PLACE) &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64, &start, &end, &offset,
			&inode) == 4 &&
		    inode == u->inode)
			take_range(u, pagemap, start, end, offset / PAGE);
	}
	free(line);
	if (f)
		(void)fclose(f);
}

size_t base_use_ranges(const uint8_t *used, uint64_t pages, struct base_range *ret, size_t max)
{
	size_t n = 0;

	for (uint64_t i = 0; i < pages; i++) {
		if (!used[i])
			continue;
		if (n > 0 && i - (ret[n - 1].page + ret[n - 1].count) < GAP)
			ret[n - 1].count = (uint32_t)(i + 1 - ret[n - 1].page);
		else if (n == max)
			return n;
		else
			ret[n++] = (struct base_range) { .page = (uint32_t)i, .count = 1 };
	}
	return n;
}

void base_save_use(int image, int cgroup_fd, const struct base_found *b)
{
	struct stat st;
	int pid;

	if (b->fd < 0 || fstat(b->fd, &st) < 0)
		return;
	struct use u = { .pages = (uint64_t)st.st_size / PAGE, .inode = st.st_ino };

	u.left = u.pages * LOOKS_MAX;
	autofree uint8_t *used = calloc(u.pages + 1, 1);
	autofree struct base_range *ranges = calloc(RANGES_MAX, sizeof *ranges);

	FILE *f = cgroup_procs(cgroup_fd);

	u.used = used;
	while (f && used && fscanf(f, "%d", &pid) == 1)
		take_process(&u, pid);
	if (f)
		(void)fclose(f);
	size_t n = used && ranges ? base_use_ranges(used, u.pages, ranges, RANGES_MAX) : 0;
	autoclose int to = n == 0 ? -1 : openat(image, BASE_USE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

	if (to >= 0 && fd_write_all(to, ranges, n * sizeof *ranges) < 0)
		(void)unlinkat(image, BASE_USE, 0);
}

void base_fetch_use(int image, int base_fd)
{
	autofree struct base_range *ranges = calloc(RANGES_MAX, sizeof *ranges);
	autoclose int fd = openat(image, BASE_USE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = ranges && fd >= 0 ? read(fd, ranges, RANGES_MAX * sizeof *ranges) : 0;

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *ranges; i++)
		(void)posix_fadvise(base_fd, (off_t)ranges[i].page * PAGE, (off_t)ranges[i].count * PAGE,
		    POSIX_FADV_WILLNEED);
}
