/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/gobinary: ELF headers, then the text that Go's linker puts at the start of the writable data. */
#include "cli/host/gobinary.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define SEGMENTS_MAX 64
#define MAGIC "\xff Go buildinf:"
#define INFO_ALIGN 16
#define INFO_HEAD 32            /* bytes before the texts */
#define INFO_WITHIN (64 * 1024) /* from the start of a segment, where Go's own reader looks */
#define FLAGS_AT 15
#define FLAG_INLINE 2 /* the texts follow; since Go 1.18 */
#define SENTINEL 16   /* bytes before and after the lines of the modules */

static bool take_bytes(struct str file, uint64_t at, uint64_t n, struct str *ret)
{
	if (at > file.n || n > file.n - at)
		return false;
	*ret = (struct str) { file.p + at, n };
	return true;
}

static int read_head(struct str file, Elf64_Ehdr *ret, struct err *e)
{
	struct str s;

	if (!take_bytes(file, 0, sizeof *ret, &s))
		return err_set(e, ENOEXEC, "too short for a program");
	memcpy(ret, s.p, sizeof *ret);
	if (memcmp(ret->e_ident, ELFMAG, SELFMAG) != 0 || ret->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ret->e_ident[EI_DATA] != ELFDATA2LSB || (ret->e_type != ET_EXEC && ret->e_type != ET_DYN))
		return err_set(e, ENOEXEC, "not a 64-bit ELF program");
	if (ret->e_phentsize != sizeof(Elf64_Phdr) || ret->e_phnum == 0 || ret->e_phnum > SEGMENTS_MAX)
		return err_set(e, ENOEXEC, "its program headers are damaged");
	return 0;
}

/* A length as Go encodes it: seven bits per byte, the lowest first. */
static bool take_length(struct str *from, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 63 && from->n; shift += 7) {
		uint8_t b = (uint8_t)from->p[0];

		str_skip(from, 1);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool take_text(struct str *from, struct str *ret)
{
	uint64_t n;

	if (!take_length(from, &n) || n > from->n)
		return false;
	*ret = (struct str) { from->p, n };
	str_skip(from, n);
	return true;
}

/* Versions and names of modules are printable ASCII without blanks; they will be printed, and be names of files. */
static bool put(char to[GOBINARY_TEXT], struct str word)
{
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] <= ' ' || word.p[i] > '~')
			return false;
	return word.n > 0 && str_copy(to, GOBINARY_TEXT, word);
}

/* Lines: "path\tPACKAGE", "mod\tMODULE\tVERSION\tSUM", "dep\tMODULE\tVERSION\tSUM", and others. */
static bool read_lines(struct str lines, const char *module, struct gobinary *g)
{
	while (lines.n) {
		struct str line = str_cut(&lines, '\n');
		struct str kind = str_cut(&line, '\t');

		if (str_is(kind, "path") && !put(g->path, line))
			return false;
		if ((!str_is(kind, "mod") && !str_is(kind, "dep")) || !str_is(str_cut(&line, '\t'), module))
			continue;
		if (g->version[0] || !put(g->version, str_cut(&line, '\t')))
			return false;
		if (line.n && !put(g->sum, line))
			return false;
	}
	return true;
}

static int read_info(struct str info, const char *module, struct gobinary *g, struct err *e)
{
	struct str go, lines;

	if (!((uint8_t)info.p[FLAGS_AT] & FLAG_INLINE))
		return err_set(e, EBADMSG, "its build info is that of a Go older than 1.18");
	str_skip(&info, INFO_HEAD);
	if (!take_text(&info, &go) || !take_text(&info, &lines) || !put(g->go, go))
		return err_set(e, EBADMSG, "its build info is damaged");
	if (lines.n < 2 * SENTINEL)
		return err_set(e, EBADMSG, "its build info names no modules");
	lines = (struct str) { lines.p + SENTINEL, lines.n - 2 * SENTINEL };
	if (!read_lines(lines, module, g) || !g->path[0])
		return err_set(e, EBADMSG, "its build info is damaged");
	return 0;
}

/* The place of the build info in a writable segment; p == NULL: none. */
static struct str find_info(struct str segment)
{
	const size_t n = segment.n < INFO_WITHIN ? segment.n : INFO_WITHIN;

	for (size_t at = 0; at + INFO_HEAD <= n; at += INFO_ALIGN)
		if (memcmp(segment.p + at, MAGIC, sizeof MAGIC - 1) == 0)
			return (struct str) { segment.p + at, segment.n - at };
	return STR_NULL;
}

int gobinary_read(struct str file, const char *module, struct gobinary *ret, struct err *e)
{
	struct gobinary g = { 0 };
	struct str info = STR_NULL, s;
	Elf64_Ehdr head;

	if (read_head(file, &head, e) < 0)
		return -e->no;
	g.machine = head.e_machine;
	for (uint64_t i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr ph;

		if (head.e_phoff > file.n || !take_bytes(file, head.e_phoff + i * sizeof ph, sizeof ph, &s))
			return err_set(e, ENOEXEC, "its program headers are damaged");
		memcpy(&ph, s.p, sizeof ph);
		if (ph.p_type == PT_INTERP)
			g.needs_loader = true;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_W) || info.p)
			continue;
		if (!take_bytes(file, ph.p_offset, ph.p_filesz, &s))
			return err_set(e, ENOEXEC, "it is cut off");
		info = find_info(s);
	}
	if (!info.p)
		return err_set(e, EBADMSG, "not linked by Go, or without build info");
	if (read_info(info, module, &g, e) < 0)
		return -e->no;
	*ret = g;
	return 0;
}
