/* SPDX-License-Identifier: Apache-2.0 */
/* The file with a zygote's memory: found by who has it mapped, and never taken for one of a sandbox's own. */
#include "engine/zygote/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define PAGE 4096

struct place {
	char at[64];
	int top, bases;
};

static void place_make(struct place *p, const char *where)
{
	(void)snprintf(p->at, sizeof p->at, "%s/unit-base-XXXXXX", where);
	assert_non_null(mkdtemp(p->at));
	p->top = open(p->at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(p->top, ".bases", 0700), 0);
	p->bases = openat(p->top, ".bases", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->bases >= 0);
}

static void place_remove(struct place *p)
{
	base_remove_all(p->bases);
	assert_int_equal(unlinkat(p->top, ".bases", AT_REMOVEDIR), 0);
	(void)unlinkat(p->top, "cgroup.procs", 0);
	assert_int_equal(rmdir(p->at), 0);
	close(p->top);
	close(p->bases);
}

/* A stand-in for a cgroup that this process is in. */
static void put_self(const struct place *p)
{
	int fd = openat(p->top, "cgroup.procs", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && dprintf(fd, "%d\n", getpid()) > 0);
	close(fd);
}

static void *map_one(int fd)
{
	assert_int_equal(ftruncate(fd, PAGE), 0);
	void *m = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	assert_true(m != MAP_FAILED);
	return m;
}

static void the_one_in_use_is_found(void **state)
{
	struct place p;
	struct base_found b;
	struct err e = ERR_INIT;
	char name[BASE_NAME_SIZE];
	int fd;

	(void)state;
	place_make(&p, "/tmp");
	put_self(&p);
	assert_int_equal(base_find(p.bases, p.top, &b, &e), 0);
	assert_int_equal(b.fd, -1);
	assert_int_equal(base_create(p.bases, KEY, name, &fd, &e), 0);
	void *m = map_one(fd);

	close(fd);
	assert_int_equal(base_find(p.bases, p.top, &b, &e), 0);
	assert_true(b.fd >= 0);
	assert_string_equal(b.name, name);
	assert_int_equal(strncmp(b.label, "file[", 5), 0);
	close(b.fd);
	base_remove(p.bases, name); /* whoever has it mapped still has it */
	assert_int_equal(base_find(p.bases, p.top, &b, &e), 0);
	assert_true(b.fd >= 0);
	assert_string_equal(b.name, name);
	close(b.fd);
	(void)munmap(m, PAGE);
	place_remove(&p);
}

static void a_path_is_no_proof(void **state)
{
	struct place ours, theirs;
	struct base_found b;
	struct err e = ERR_INIT;
	char name[BASE_NAME_SIZE];
	int fd;

	(void)state;
	place_make(&ours, "/tmp");
	place_make(&theirs, "/dev/shm");
	put_self(&ours);
	assert_int_equal(base_create(theirs.bases, KEY, name, &fd, &e), 0);
	void *m = map_one(fd);

	assert_int_equal(base_find(ours.bases, ours.top, &b, &e), 0);
	assert_int_equal(b.fd, -1);
	(void)munmap(m, PAGE);
	close(fd);
	place_remove(&theirs);
	place_remove(&ours);
}

static void one_is_kept_per_template(void **state)
{
	struct place p;
	struct err e = ERR_INIT;
	char name[3][BASE_NAME_SIZE];
	int fd;

	(void)state;
	place_make(&p, "/tmp");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(base_create(p.bases, i < 2 ? KEY : "fedcba98", name[i], &fd, &e), 0);
		assert_true(base_name_ok(name[i]));
		close(fd);
	}
	base_keep(p.bases, KEY, name[1]);
	assert_int_equal(faccessat(p.bases, name[0], F_OK, 0), -1);
	assert_int_equal(faccessat(p.bases, name[1], F_OK, 0), 0);
	assert_int_equal(faccessat(p.bases, name[2], F_OK, 0), 0);
	place_remove(&p);
}

static void pages_close_together_are_one_read(void **state)
{
	uint8_t used[200] = { [3] = 1, [4] = 1, [19] = 1, [100] = 1, [199] = 1 };
	struct base_range r[4];

	(void)state;
	assert_int_equal(base_use_ranges(used, 200, r, 4), 3);
	assert_int_equal(r[0].page, 3);
	assert_int_equal(r[0].count, 17);
	assert_int_equal(r[1].page, 100);
	assert_int_equal(r[1].count, 1);
	assert_int_equal(r[2].page, 199);
	assert_int_equal(base_use_ranges(used, 200, r, 2), 2);
	assert_int_equal(base_use_ranges(used, 3, r, 4), 0);
}

/* What a process has touched of the file is noted, what it has not is not. */
static void what_is_in_use_is_noted(void **state)
{
	struct place p;
	struct base_found b;
	struct err e = ERR_INIT;
	struct base_range r[8];
	char name[BASE_NAME_SIZE];
	int fd;

	(void)state;
	place_make(&p, "/tmp");
	put_self(&p);
	assert_int_equal(base_create(p.bases, KEY, name, &fd, &e), 0);
	assert_int_equal(ftruncate(fd, 300 * PAGE), 0);
	char *m = mmap(NULL, 200 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 100 * PAGE);

	assert_true(m != MAP_FAILED);
	assert_int_equal(base_find(p.bases, p.top, &b, &e), 0);
	base_save_use(p.top, p.top, &b);
	assert_int_equal(faccessat(p.top, BASE_USE, F_OK, 0), -1); /* nothing */
	m[5 * PAGE] = m[150 * PAGE] = 1;
	base_save_use(p.top, p.top, &b);
	int note = openat(p.top, BASE_USE, O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(note, r, sizeof r), 2 * sizeof *r);
	assert_int_equal(r[0].page, 105);
	assert_int_equal(r[1].page, 250);
	base_fetch_use(p.top, b.fd);
	base_fetch_use(p.bases, b.fd); /* no note there */
	close(note);
	close(b.fd);
	close(fd);
	(void)munmap(m, 200 * PAGE);
	assert_int_equal(unlinkat(p.top, BASE_USE, 0), 0);
	place_remove(&p);
}

static void names_are_checked(void **state)
{
	static const char *const bad[] = { "", "../x", "a/b", "x y", "." };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(base_name_ok(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_in_use_is_found),
		cmocka_unit_test(a_path_is_no_proof),
		cmocka_unit_test(one_is_kept_per_template),
		cmocka_unit_test(pages_close_together_are_one_read),
		cmocka_unit_test(what_is_in_use_is_noted),
		cmocka_unit_test(names_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
