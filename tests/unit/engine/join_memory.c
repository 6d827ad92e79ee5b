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
		cmocka_unit_test(counts_are_pinned_where_there_are_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
