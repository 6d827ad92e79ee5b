/* SPDX-License-Identifier: Apache-2.0 */
/* join_memory: makes the memory of a warm interpreter fit for copies that live elsewhere; part of the library join_lib.
 *
 * What it has mapped from files (its libraries, some six hundred mappings) becomes plain memory with the same bytes: a copy
 * must not depend on the zygote's mounts, which are not those of its sandbox and which a checkpoint could not name. All copies
 * share these pages. Then large stretches become huge pages, of which a fork copies one entry instead of 512: without them
 * a fork of this process would take some milliseconds. A copy that writes to one breaks its own entry up and copies 4 KiB, as ever.
 *
 * Runs in the process that it changes, whose one thread is here; nothing is called that allocates. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/join_lib.h"

#define MAPS_SIZE (1024 * 1024)
#define HUGE_SIZE (2ul * 1024 * 1024)
#define MADV_COLLAPSE_ 25		/* not in older headers */

struct region {
	uintptr_t from, to;
	int prot;
	bool shared, is_file, is_named;	/* named: [stack], [vdso] and the like */
};

static uintptr_t hex(const char **at)
{
	uintptr_t v = 0;

	for (;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			v = v * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (uintptr_t)(c - 'a' + 10);
		else
			return v;
	}
}

static const char *next_field(const char *at)
{
	while (*at != ' ' && *at != '\n')
		at++;
	while (*at == ' ')
		at++;
	return at;
}

/* from-to perms offset device inode path */
static const char *parse_line(const char *at, struct region *ret)
{
	ret->from = hex(&at);
	at++;
	ret->to = hex(&at);
	at = next_field(at);
	ret->prot = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) | (at[2] == 'x' ? PROT_EXEC : 0);
	ret->shared = at[3] == 's';
	at = next_field(next_field(next_field(at)));
	ret->is_file = !(at[0] == '0' && (at[1] == ' ' || at[1] == '\n'));
	at = next_field(at);
	ret->is_named = *at == '[' && at[1] != 'h';	/* [heap] is memory like any other */
	while (*at != '\n')
		at++;
	return at + 1;
}

/* NULL: an error. The text ends with a NUL. */
static char *read_maps(void)
{
	char *text = mmap(NULL, MAPS_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = text == MAP_FAILED ? -1 : (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = -1;

	while (fd >= 0 && n < MAPS_SIZE - 1 && (got = read(fd, text + n, MAPS_SIZE - 1 - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		(void)close(fd);
	if (got == 0)
		return text;
	if (text != MAP_FAILED)
		(void)munmap(text, MAPS_SIZE);
	return NULL;
}

/* Memory for that region at another place that is as far from a boundary of huge pages, so that they can be moved whole. */
static char *alike(const struct region *r)
{
	size_t n = r->to - r->from, room = n + HUGE_SIZE;
	char *all = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return NULL;
	size_t before = (r->from - (uintptr_t)all) & (HUGE_SIZE - 1), after = room - before - n;

	if (before)
		(void)munmap(all, before);
	if (after)
		(void)munmap(all + before + n, after);
	return all + before;
}

/* Pages of zeros stay unused. Volatile, or the compiler makes it a call of libc's, which may be what is being moved. */
static void copy_pages(char *to, const char *from, size_t n)
{
	const size_t page = 4096;

	for (size_t at = 0; at < n; at += page) {
		const uint64_t *p = (const uint64_t *)(const void *)(from + at);
		volatile uint64_t *q = (volatile uint64_t *)(void *)(to + at);
		size_t i = 0;

		while (i < page / sizeof *p && p[i] == 0)
			i++;
		for (; i < page / sizeof *p; i++)
			q[i] = p[i];
	}
}

static int replace(const struct region *r)
{
	size_t n = r->to - r->from;

	if (!(r->prot & PROT_READ)) {
		/* A gap between two parts of a library. */
		return r->prot != PROT_NONE || mmap((void *)r->from, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
						    -1, 0) == MAP_FAILED ? -EINVAL : 0;
	}
	char *to = alike(r);

	if (!to)
		return -ENOMEM;
	(void)madvise(to, n, MADV_HUGEPAGE);
	copy_pages(to, (const char *)r->from, n);
	/* The bytes do not change, so it may be the very code that runs here. */
	if (mprotect(to, n, r->prot) < 0 || mremap(to, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)r->from) == MAP_FAILED)
		return -errno;
	return 0;
}

/* Where the machine has no huge pages to give, forks are slower, and that is all. */
static void collapse(const struct region *r)
{
	uintptr_t from = (r->from + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1), to = r->to & ~(HUGE_SIZE - 1);

	if (from < to && r->prot != PROT_NONE)
		(void)madvise((void *)from, to - from, MADV_COLLAPSE_);
}

static int each(int (*fn)(const struct region *r))
{
	char *text = read_maps();
	int r = text ? 0 : -EIO;

	for (const char *at = text; r == 0 && *at;) {
		struct region g;

		at = parse_line(at, &g);
		r = fn(&g);
	}
	if (text)
		(void)munmap(text, MAPS_SIZE);
	return r;
}

static int detach_one(const struct region *r)
{
	/* One that is shared and written to would be found out by the zygote's own checks. */
	return r->is_file && !(r->shared && (r->prot & PROT_WRITE)) ? replace(r) : 0;
}

static int collapse_one(const struct region *r)
{
	if (!r->is_file && !r->is_named && !r->shared)
		collapse(r);
	return 0;
}

/* The number after so many others. */
static uint64_t nth_number(const char *at, int nth)
{
	uint64_t v = 0;

	for (; nth > 0 && *at; at++)
		nth -= *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		v = v * 10 + (uint64_t)(*at - '0');
	return v;
}

/* The kernel wants all of this said again to change one of it. Fields as in proc(5), counted from behind the name, which is the second. */
static int layout_now(struct prctl_mm_map *ret)
{
	enum { START_CODE = 23, END_CODE, START_STACK, START_DATA = 42, END_DATA, START_BRK, ARG_START, ARG_END, ENV_START, ENV_END };
	char z[2048];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, z, sizeof z - 1);

	if (fd >= 0)
		(void)close(fd);
	z[n > 0 ? n : 0] = '\0';
	char *at = z + (n > 0 ? n : 0);

	while (at > z && *at != ')')
		at--;
	if (at == z)
		return -EIO;
	at += 2;
	*ret = (struct prctl_mm_map) {
		.start_code = nth_number(at, START_CODE), .end_code = nth_number(at, END_CODE),
		.start_stack = nth_number(at, START_STACK), .start_data = nth_number(at, START_DATA),
		.end_data = nth_number(at, END_DATA), .start_brk = nth_number(at, START_BRK),
		.brk = (uint64_t)syscall(SYS_brk, 0), .arg_start = nth_number(at, ARG_START), .arg_end = nth_number(at, ARG_END),
		.env_start = nth_number(at, ENV_START), .env_end = nth_number(at, ENV_END), .exe_fd = (uint32_t)-1,
	};
	return 0;
}

int memory_name_exe(const char *path)
{
	struct prctl_mm_map map;
	int r = *path ? layout_now(&map) : -ENOENT, fd = r < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return r < 0 ? r : -errno;
	map.exe_fd = (uint32_t)fd;
	r = prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

int memory_detach(void)
{
	int r = each(detach_one);

	return r < 0 ? r : each(collapse_one);
}
