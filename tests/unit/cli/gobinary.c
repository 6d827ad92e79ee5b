/* SPDX-License-Identifier: Apache-2.0 */
/* Units of cli/host/gobinary: files made here, byte by byte, and every cut of them. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/host/gobinary.h"
#include "unit.h"

#define MODULE "example.com/m"
#define DATA_AT 512
#define SENTINEL "0123456789abcdef"

static const char good[] =
    "path\texample.com/m/cmd\nmod\texample.com/m\tv1.2.3\th1:abc=\ndep\tother.org/x\tv0.1.0\th1:x=\n"
    "build\tCGO_ENABLED=0\n";

struct file {
	char bytes[4096];
	size_t n;
};

static void put_text(struct file *f, const char *head, const char *z, const char *tail)
{
	size_t n = strlen(head) + strlen(z) + strlen(tail);

	f->bytes[f->n++] = (char)(0x80 | (n & 0x7f));
	f->bytes[f->n++] = (char)(n >> 7);
	f->n += (size_t)sprintf(f->bytes + f->n, "%s%s%s", head, z, tail);
}

static struct file make(uint16_t type, bool interp, const char *lines)
{
	struct file f = { .n = DATA_AT + 32 }; /* the info begins at the second alignment */
	Elf64_Ehdr h = { .e_type = type,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof h,
		.e_phnum = 2,
		.e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Phdr ph[2] = { { .p_type = interp ? PT_INTERP : PT_NOTE },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = DATA_AT } };

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(f.bytes + f.n, "\xff Go buildinf:\x08\x02", 16);
	f.n += 32;
	put_text(&f, "", "go1.26.8", "");
	put_text(&f, SENTINEL, lines, SENTINEL);
	ph[1].p_filesz = f.n - DATA_AT;
	memcpy(f.bytes, &h, sizeof h);
	memcpy(f.bytes + sizeof h, ph, sizeof ph);
	return f;
}

static int read_file(const struct file *f, struct gobinary *g)
{
	struct err e = ERR_INIT;

	return gobinary_read((struct str) { f->bytes, f->n }, MODULE, g, &e);
}

static void a_static_program_is_read(void **state)
{
	struct file f = make(ET_EXEC, false, good);
	struct gobinary g;

	(void)state;
	assert_int_equal(read_file(&f, &g), 0);
	assert_int_equal(g.machine, EM_X86_64);
	assert_false(g.needs_loader);
	assert_string_equal(g.go, "go1.26.8");
	assert_string_equal(g.path, "example.com/m/cmd");
	assert_string_equal(g.version, "v1.2.3");
	assert_string_equal(g.sum, "h1:abc=");
}

static void a_dynamic_program_is_known(void **state)
{
	struct file f = make(ET_DYN, true, good);
	struct gobinary g;

	(void)state;
	assert_int_equal(read_file(&f, &g), 0);
	assert_true(g.needs_loader);
}

static void a_module_may_be_a_dependency_or_absent(void **state)
{
	struct file dep = make(ET_EXEC, false, "path\tp\nmod\tmine\t(devel)\t\ndep\texample.com/m\tv2\n");
	struct file none = make(ET_EXEC, false, "path\tp\nmod\tmine\t(devel)\t\n");
	struct gobinary g;

	(void)state;
	assert_int_equal(read_file(&dep, &g), 0);
	assert_string_equal(g.version, "v2");
	assert_string_equal(g.sum, "");
	assert_int_equal(read_file(&none, &g), 0);
	assert_string_equal(g.version, "");
}

static void words_that_cannot_be_names_are_refused(void **state)
{
	static const char *const bad[] = {
		"path\tp\nmod\texample.com/m\tv1 2\n",
		"path\tp\nmod\texample.com/m\tv1\x1b[0m\n",
		"path\tp\nmod\texample.com/m\t\n",
		"path\tp\nmod\texample.com/m\tv1\ndep\texample.com/m\tv2\n", /* two versions */
		"mod\texample.com/m\tv1\n",
		"",
	};
	struct gobinary g;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct file f = make(ET_EXEC, false, bad[i]);

		assert_int_equal(read_file(&f, &g), -EBADMSG);
	}
}

static void other_files_are_refused(void **state)
{
	struct file f = make(ET_EXEC, false, good);
	struct gobinary g;

	(void)state;
	memset(f.bytes + DATA_AT, 0, 64);
	assert_int_equal(read_file(&f, &g), -EBADMSG); /* no build info */
	f = make(ET_REL, false, good);
	assert_int_equal(read_file(&f, &g), -ENOEXEC);
	f = make(ET_EXEC, false, good);
	f.bytes[DATA_AT + 32 + 15] = 0; /* pointers instead of texts */
	assert_int_equal(read_file(&f, &g), -EBADMSG);
}

static void a_file_that_is_cut_off_is_refused(void **state)
{
	struct file f = make(ET_EXEC, false, good);
	struct gobinary g;

	(void)state;
	for (size_t n = 0; n < f.n; n++) {
		char *exact = malloc(n + 1); /* of this size, for the sanitizer */
		struct err e = ERR_INIT;

		memcpy(exact, f.bytes, n);
		assert_int_not_equal(gobinary_read((struct str) { exact, n }, MODULE, &g, &e), 0);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_static_program_is_read),
		cmocka_unit_test(a_dynamic_program_is_known),
		cmocka_unit_test(a_module_may_be_a_dependency_or_absent),
		cmocka_unit_test(words_that_cannot_be_names_are_refused),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(a_file_that_is_cut_off_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
