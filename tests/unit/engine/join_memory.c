/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a process's memory: the same bytes, with the same rights, from no file; and what must stay as it is
 * does. */
#include "engine/zygote/join_lib.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 700u /* more than a huge page */

enum { FINE, NOT_DETACHED, BYTES_CHANGED, FILES_LEFT, RIGHTS_CHANGED, NOT_WIPED, GAP_FILLED, OTHER };

/* Other than that one; 0: none is fine. */
static bool has_files(unsigned long but)
{
	char line[512];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof line, f)) {
		unsigned long inode = 0;

		if (sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode && inode != but)
			found = true;
	}
	if (f)
		(void)fclose(f);
	return found;
}

/* The process that looks has a copy of its own. */
static int in_copy(int (*fn)(char *p), char *p)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL); /* cmocka has a handler for it */
		_exit(fn(p));
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int first_byte(char *p)
{
	return *p;
}

static int write_to(char *p)
{
	*p = 1; /* SIGSEGV where that is not allowed */
	return 0;
}

static int rearranged(int base, char *file, char *plain, char *wiped, char *gap)
{
	struct stat st = { 0 };
	char *copy = malloc((size_t)PAGES * PAGE);

	if (!copy)
		return OTHER;
	memcpy(copy, file, (size_t)PAGES * PAGE);
	if (base >= 0 && fstat(base, &st) < 0)
		return OTHER;
	if (memory_detach(base) < 0)
		return NOT_DETACHED;
	if (memcmp(copy, file, (size_t)PAGES * PAGE) != 0 || plain[0] != 'p' || plain[(PAGES - 1) * PAGE] != 'e' ||
	    wiped[0] != 'w')
		return BYTES_CHANGED;
	if (has_files(st.st_ino))
		return FILES_LEFT;
	if (in_copy(write_to, file) != -1 || in_copy(write_to, plain) != 0)
		return RIGHTS_CHANGED;
	/* Copies would draw the same random numbers from it. */
	if (in_copy(first_byte, wiped) != 0 || in_copy(first_byte, plain) != 'p')
		return NOT_WIPED;
	return in_copy(first_byte, gap) == -1 ? FINE : GAP_FILLED;
}

static int prepared(int base)
{
	char name[] = "/tmp/unit-join-XXXXXX", *file, *wiped, *plain, *all;
	int out = mkstemp(name);
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	for (unsigned i = 0; i < PAGES * PAGE / sizeof(unsigned); i++) {
		if (write(out, &i, sizeof i) != sizeof i)
			return OTHER;
	}
	(void)unlink(name);
	/* Next to each other: file, a gap, plain memory, and some that is wiped. */
	all = mmap(NULL, (2 * PAGES + 3) * PAGE, PROT_NONE, flags, -1, 0);
	file = mmap(all, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, out, 0);
	(void)munmap(all + PAGES * PAGE, PAGE);
	plain = mmap(all + (PAGES + 1) * PAGE, PAGES * PAGE, prot, flags | MAP_FIXED, -1, 0);
	wiped = mmap(plain + PAGES * PAGE, PAGE, prot, flags | MAP_FIXED, -1, 0);
	if (file == MAP_FAILED || plain == MAP_FAILED || wiped == MAP_FAILED ||
	    madvise(wiped, PAGE, MADV_WIPEONFORK) < 0)
		return OTHER;
	for (unsigned i = 0; i < PAGES; i++)
		plain[i * PAGE] = 'a';
	plain[0] = 'p';
	plain[(PAGES - 1) * PAGE] = 'e';
	wiped[0] = 'w';
	close(out);
	return rearranged(base, file, plain, wiped, all + PAGES * PAGE);
}

static void check_memory(int base)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(prepared(base));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), FINE);
}

static void memory_is_the_same_from_no_file(void **state)
{
	(void)state;
	check_memory(-1);
}

static void memory_is_the_same_from_one_file(void **state)
{
	char name[] = "/tmp/unit-join-XXXXXX";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	(void)unlink(name);
	check_memory(fd);
	close(fd);
}

static bool is_mapped(const char *p)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	(void)!pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)p / PAGE * sizeof entry));
	close(fd);
	return entry >> 63;
}

static size_t mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	size_t n = 0;

	for (int c; f && (c = fgetc(f)) != EOF;)
		n += c == '\n';
	if (f)
		(void)fclose(f);
	return n;
}

enum { LIST_MAX = 65536 };
static const unsigned uses[] = { 3, 100, 101, 650 };

/* In a copy: what it has used, through a pipe. */
static int learns(int to, const char *p)
{
	uint64_t *list = mmap(NULL, LIST_MAX * sizeof *list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	    0);

	if (list == MAP_FAILED || atoll_pages_apart() < 0)
		return OTHER;
	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
		(void)*(volatile const char *)(p + uses[i] * PAGE);
	int n = atoll_pages_used(list, LIST_MAX);

	for (int i = 0; i < n; i++) {
		if (write(to, &list[i], sizeof *list) != sizeof *list)
			return OTHER;
	}
	return n > 0 ? FINE : OTHER;
}

static int fitted(int base)
{
	uint64_t *list = mmap(NULL, LIST_MAX * sizeof *list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	    0);
	char *p = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pipes[2], status;
	size_t n = 0;

	for (unsigned i = 0; i < PAGES; i++)
		memset(p + i * PAGE, (int)(i % 250) + 1, PAGE);
	if (pipe(pipes) < 0 || memory_detach(base) < 0)
		return NOT_DETACHED;
	p[7 * PAGE] = 'w'; /* a page of its own */
	size_t before = mappings();
	pid_t pid = fork();

	if (pid == 0)
		_exit(learns(pipes[1], p));
	close(pipes[1]);
	while (n < LIST_MAX && read(pipes[0], &list[n], sizeof *list) == sizeof *list)
		n++;
	if (waitpid(pid, &status, 0) != pid || status != 0 || atoll_pages_take(list, n) < 0)
		return OTHER;
	if (mappings() != before)
		return FILES_LEFT;
	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
		if (!is_mapped(p + uses[i] * PAGE))
			return GAP_FILLED;
	}
	if (is_mapped(p + 4 * PAGE) || is_mapped(p + 99 * PAGE) || is_mapped(p + 640 * PAGE) ||
	    !is_mapped(p + 7 * PAGE))
		return GAP_FILLED;
	for (unsigned i = 0; i < PAGES; i++) {
		if (p[i * PAGE] != (i == 7 ? 'w' : (char)(i % 250 + 1)))
			return BYTES_CHANGED;
	}
	return FINE;
}

static void only_what_a_copy_uses_is_mapped(void **state)
{
	char name[] = "/tmp/unit-join-XXXXXX";
	int status, fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	(void)unlink(name);
	pid_t pid = fork();

	if (pid == 0)
		_exit(fitted(fd));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), FINE);
	close(fd);
}

static void without_a_shared_file_no_page_is_listed(void **state)
{
	uint64_t one;

	(void)state;
	assert_int_equal(atoll_pages_apart(), 0);
	assert_int_equal(atoll_pages_used(&one, 1), 0);
	assert_int_equal(atoll_pages_take(&one, 0), 0);
}

static void counts_are_pinned_where_there_are_any(void **state)
{
	uint64_t objects[] = { 1, 0, 7, UINT32_MAX }, places[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		places[i] = (uint64_t)(uintptr_t)&objects[i];
	atoll_pin(places, 4);
	assert_int_equal(objects[0], UINT32_MAX);
	assert_int_equal(objects[1], 0);
	assert_int_equal(objects[2], UINT32_MAX);
	assert_int_equal(objects[3], UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_the_same_from_no_file),
		cmocka_unit_test(memory_is_the_same_from_one_file),
		cmocka_unit_test(only_what_a_copy_uses_is_mapped),
		cmocka_unit_test(without_a_shared_file_no_page_is_listed),
		cmocka_unit_test(counts_are_pinned_where_there_are_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
