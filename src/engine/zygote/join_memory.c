/* SPDX-License-Identifier: Apache-2.0 */
/* join_memory: prepares the memory of a zygote for copies that live elsewhere; part of the library join_lib.
 *
 * Everything mapped from files (the libraries, some six hundred mappings) becomes anonymous memory with the same
 * bytes: a copy must not depend on the zygote's mounts, which are not those of its sandbox and which a checkpoint
 * could not name. All copies share these pages.
 *
 * Memory that is already anonymous is rewritten together with it, in huge pages. A fork copies the entry of a huge
 * page, or 512 entries of one in a single step, as quickly as an entry of 4 KiB, of which there would be fifty
 * thousand. A copy that writes to a huge page gets 4 KiB of its own, as usual.
 *
 * Memory is processed in runs: adjacent mappings that differ in protection, and small gaps between them. A run is
 * copied to a new place and moved over the old one in one step (it contains the code that does this); then each
 * part gets its protection back.
 *
 * This runs in the process that it changes, whose only thread is here; it calls nothing that allocates. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/zygote/join_lib.h"

#define PARTS_MAX 8192
#define LINE_SIZE 512 /* the rest of a longer line is ignored */
#define HUGE_SIZE (2ul * 1024 * 1024)
#define PAGE 4096u

struct part { /* a mapping */
	uintptr_t from, to;
	int prot;
	bool is_file, stays;
	size_t resident;
};

static struct part parts[PARTS_MAX];
static size_t n_parts;
static bool in_file; /* those that move are mapped from the file */

/* --- reading the list ----------------------------------------------------------------------------------------- */

static uintptr_t number(const char **at, unsigned base)
{
	uintptr_t v = 0;

	for (;; (*at)++) {
		char c = **at;
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
		    : c >= 'a' && c <= 'f'            ? (unsigned)(c - 'a') + 10
						      : base;

		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

static const char *next_word(const char *at)
{
	while (*at && *at != ' ')
		at++;
	while (*at == ' ')
		at++;
	return at;
}

static bool begins(const char *line, const char *with)
{
	while (*with && *line == *with)
		line++, with++;
	return !*with;
}

/* from-to perms offset device inode path */
static bool begin_part(const char *at)
{
	struct part *p = &parts[n_parts];

	if (n_parts == PARTS_MAX)
		return false;
	*p = (struct part) { .from = number(&at, 16) };
	at++;
	p->to = number(&at, 16);
	at = next_word(at);
	p->prot = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) | (at[2] == 'x' ? PROT_EXEC : 0);
	/* The zygote's own checks would find a shared writable mapping. */
	p->stays = at[3] == 's' && at[1] == 'w';
	at = next_word(next_word(next_word(at)));
	p->is_file = number(&at, 10) != 0;
	/* Gives all of a read-only library one mapping instead of three: each one makes a fork slower. */
	if (p->is_file && (p->prot & PROT_READ) && !(p->prot & PROT_WRITE))
		p->prot |= PROT_EXEC;
	at = next_word(at);
	if (*at == '[' && !begins(at, "[heap]") && !begins(at, "[anon"))
		p->stays = true; /* the stack, and the kernel's own mappings */
	if (!(p->prot & PROT_READ) && p->prot != PROT_NONE)
		p->stays = true;
	n_parts++;
	return true;
}

/* Memory with special flags must keep them, above all memory that is wiped on fork: libc keeps random numbers
 * there. */
static void take_flags(struct part *p, const char *at)
{
	static const char *const plain[] = { "rd", "wr", "ex", "mr", "mw", "me", "ac", "nr", "sd", "hg", "nh", "sh",
		"ms", "bt" };

	while (*(at = next_word(at))) {
		bool known = false;

		for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
			known = known || begins(at, plain[i]);
		p->stays = p->stays || !known;
	}
}

static bool take_line(const char *line)
{
	bool head = (line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f');

	if (head)
		return begin_part(line);
	if (n_parts == 0)
		return false;
	if (begins(line, "Rss:")) {
		line = next_word(line);
		parts[n_parts - 1].resident = number(&line, 10) * 1024;
	} else if (begins(line, "VmFlags:")) {
		take_flags(&parts[n_parts - 1], line);
	}
	return true;
}

static int read_parts(void)
{
	char buf[PAGE], line[LINE_SIZE];
	size_t n = 0;
	ssize_t got = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0;

	n_parts = 0;
	while (ok && (got = read(fd, buf, sizeof buf)) > 0) {
		for (ssize_t i = 0; ok && i < got; i++) {
			if (buf[i] != '\n') {
				line[n] = buf[i];
				n += n < sizeof line - 1;
				continue;
			}
			line[n] = '\0';
			n = 0;
			ok = take_line(line);
		}
	}
	if (fd >= 0)
		(void)close(fd);
	return ok && got == 0 ? 0 : -EIO;
}

/* --- changing it ---------------------------------------------------------------------------------------------- */

/* Large and hardly used: a buffer reserved by some library. In huge pages all of it would be resident. */
static bool is_reserve(const struct part *p)
{
	return !p->is_file && p->resident < (p->to - p->from) / 2;
}

static bool moves(const struct part *p)
{
	return !p->stays && !(p->prot == PROT_NONE && !p->is_file) && !is_reserve(p);
}

bool memory_shared(size_t i, uintptr_t *ret_from, uintptr_t *ret_to)
{
	static const struct part none;
	const struct part *p = in_file && i < n_parts ? &parts[i] : NULL;

	if (!p)
		return false;
	if (!moves(p) || p->prot == PROT_NONE)
		p = &none;
	*ret_from = p->from;
	*ret_to = p->to;
	return true;
}

/* Reserves space for a run, aligned to huge pages at both ends, so that all of the run is in huge pages. */
static char *room_for(uintptr_t from, uintptr_t to)
{
	size_t n = to - from, room = n + HUGE_SIZE;
	char *all = mmap(NULL, room, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	    -1, 0);

	if (all == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)all & (HUGE_SIZE - 1), after = room - before - n;

	if (before)
		(void)munmap(all, before);
	if (after)
		(void)munmap(all + before + n, after);
	(void)madvise(all + before, n, MADV_HUGEPAGE);
	return all + before;
}

/* Pages of zeros are not written. Volatile, because otherwise the compiler makes this a call of a libc function,
 * which may be in the memory being moved. */
static void copy_pages(char *to, const char *from, size_t n)
{
	for (size_t at = 0; at < n; at += PAGE) {
		const uint64_t *p = (const uint64_t *)(const void *)(from + at);
		volatile uint64_t *q = (volatile uint64_t *)(void *)(to + at);
		size_t i = 0;

		while (i < PAGE / sizeof *p && p[i] == 0)
			i++;
		for (; i < PAGE / sizeof *p; i++)
			q[i] = p[i];
	}
}

static int protect_again(size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		if (mprotect((void *)parts[i].from, parts[i].to - parts[i].from, parts[i].prot) < 0)
			return -errno;
		if (i > first && parts[i - 1].to < parts[i].from)
			(void)munmap((void *)parts[i - 1].to, parts[i].from - parts[i - 1].to);
	}
	return 0;
}

/* Moves parts first to last - 1, all of which are movable. */
static int move_run(size_t first, size_t last)
{
	uintptr_t from = parts[first].from, to = parts[last - 1].to;
	uintptr_t low = from & ~(HUGE_SIZE - 1), high = (to + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);
	char *room = room_for(low, high);

	if (!room)
		return -ENOMEM;
	for (size_t i = first; i < last; i++) {
		if (parts[i].prot != PROT_NONE)
			copy_pages(room + (parts[i].from - low), (const char *)parts[i].from,
			    parts[i].to - parts[i].from);
	}
	if (mremap(room + (from - low), to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from) ==
	    MAP_FAILED)
		return -errno;
	if (from > low)
		(void)munmap(room, from - low);
	if (high > to)
		(void)munmap(room + (to - low), high - to);
	return protect_again(first, last);
}

static bool is_zero(const char *page)
{
	const uint64_t *p = (const uint64_t *)(const void *)page;
	size_t i = 0;

	while (i < PAGE / sizeof *p && p[i] == 0)
		i++;
	return i == PAGE / sizeof *p;
}

/* Writes pages to the file, except pages of zeros. */
static int write_pages(int fd, off_t to, const char *from, size_t n)
{
	for (size_t at = 0, end; at < n; at = end) {
		bool zero = is_zero(from + at);

		for (end = at + PAGE; end < n && is_zero(from + end) == zero; end += PAGE)
			;
		for (size_t done = at; !zero && done < end;) {
			ssize_t w = pwrite(fd, from + done, end - done, to + (off_t)done);

			if (w <= 0)
				return w < 0 ? -errno : -EIO;
			done += (size_t)w;
		}
	}
	return 0;
}

/* fd is open for writing. The mapping uses for_reading, because a restore must reopen the file in the mode in
 * which it was mapped. */
static int move_run_to(int fd, int for_reading, size_t first, size_t last)
{
	static off_t next;
	uintptr_t from = parts[first].from, to = parts[last - 1].to;
	off_t at = next;
	int r = 0;

	next += (off_t)(to - from);
	if (ftruncate(fd, next) < 0)
		return -errno;
	for (size_t i = first; r == 0 && i < last; i++) {
		if (parts[i].prot != PROT_NONE)
			r = write_pages(fd, at + (off_t)(parts[i].from - from), (const char *)parts[i].from,
			    parts[i].to - parts[i].from);
	}
	if (r < 0)
		return r;
	char *room = mmap(NULL, to - from, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, for_reading, at);

	/* A fork copies the page tables only of memory that has a private page; for other memory it leaves them to
	 * page faults. What the zygote has used, a copy will use too, so this makes one private page. */
	if (room != MAP_FAILED)
		*(volatile char *)room = *(volatile char *)room;
	if (room == MAP_FAILED ||
	    mremap(room, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from) == MAP_FAILED)
		return -errno;
	return protect_again(first, last);
}

/* Returns the number after nth others. */
static uint64_t nth_number(const char *at, int nth)
{
	uint64_t v = 0;

	for (; nth > 0 && *at; at++)
		nth -= *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		v = v * 10 + (uint64_t)(*at - '0');
	return v;
}

/* To change one of these values, the kernel requires all of them. Fields as in proc(5), counted from the field
 * after the name, which is the second. */
static int layout_now(struct prctl_mm_map *ret)
{
	enum {
		START_CODE = 23,
		END_CODE,
		START_STACK,
		START_DATA = 42,
		END_DATA,
		START_BRK,
		ARG_START,
		ARG_END,
		ENV_START,
		ENV_END
	};
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
		.start_code = nth_number(at, START_CODE),
		.end_code = nth_number(at, END_CODE),
		.start_stack = nth_number(at, START_STACK),
		.start_data = nth_number(at, START_DATA),
		.end_data = nth_number(at, END_DATA),
		.start_brk = nth_number(at, START_BRK),
		.brk = (uint64_t)syscall(SYS_brk, 0),
		.arg_start = nth_number(at, ARG_START),
		.arg_end = nth_number(at, ARG_END),
		.env_start = nth_number(at, ENV_START),
		.env_end = nth_number(at, ENV_END),
		.exe_fd = (uint32_t)-1,
	};
	return 0;
}

int memory_name_exe(const char *path)
{
	struct prctl_mm_map map;
	int r = *path ? layout_now(&map) : -ENOENT,
	    fd = r < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return r < 0 ? r : -errno;
	map.exe_fd = (uint32_t)fd;
	r = prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

/* See runtimes/python/atoll_kernel/immortal.py: only the Python there knows what this means. */
void atoll_pin(const uint64_t *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t *count = (uint32_t *)(uintptr_t)places[i];

		if (*count > 0 && *count <= INT32_MAX)
			*count = UINT32_MAX;
	}
}

/* Formats the number itself, because it cannot call libc. */
static int open_again(int fd)
{
	char path[] = "/proc/self/fd/00";

	path[sizeof path - 3] = (char)('0' + fd / 10 % 10);
	path[sizeof path - 2] = (char)('0' + fd % 10);
	if (fd < 10) {
		path[sizeof path - 3] = path[sizeof path - 2];
		path[sizeof path - 2] = '\0';
	}
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int memory_detach(int base)
{
	int r = read_parts();
	int for_reading = r < 0 || base < 0 ? -1 : open_again(base);

	if (base >= 0 && r == 0 && for_reading < 0)
		return for_reading;

	for (size_t i = 0, next; r == 0 && i < n_parts; i = next) {
		next = i + 1;
		if (!moves(&parts[i]))
			continue;
		while (next < n_parts && moves(&parts[next]) && parts[next].from - parts[next - 1].to < HUGE_SIZE)
			next++;
		r = base >= 0 ? move_run_to(base, for_reading, i, next) : move_run(i, next);
	}
	if (for_reading >= 0)
		(void)close(for_reading);
	in_file = r == 0 && base >= 0;
	return r;
}
