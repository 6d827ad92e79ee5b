/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: an archive means the same, however it is cut into pieces. The first byte gives the piece size. */
#include <string.h>

#include "base/buf.h"
#include "base/tar.h"
#include "fuzz.h"

struct seen {
	struct buf text;
	uint64_t left; /* bytes that the entry still owes */
	bool in_file;
};

static int on_entry(void *user, const struct tar_entry *t)
{
	struct seen *s = user;

	MUST(!s->in_file);
	MUST(strlen(t->name) > 0 && strlen(t->name) < TAR_NAME_MAX && strlen(t->target) < TAR_NAME_MAX);
	MUST((t->mode & ~0777u) == 0);
	MUST(t->type == TAR_FILE || t->size == 0);
	s->in_file = t->type == TAR_FILE;
	s->left = t->size;
	buf_fmt(&s->text, "[%d %d %s %s %llu]", t->type, tar_name_ok(t->name), t->name, t->target,
	    (unsigned long long)t->size);
	return 0;
}

static int on_data(void *user, const void *p, size_t n)
{
	struct seen *s = user;

	MUST(s->in_file && n > 0 && n <= s->left);
	s->left -= n;
	buf_put(&s->text, p, n);
	return 0;
}

static int on_end(void *user)
{
	struct seen *s = user;

	MUST(s->in_file && s->left == 0);
	s->in_file = false;
	buf_ch(&s->text, '.');
	return 0;
}

static const struct tar_reader_ops ops = { .on_entry = on_entry, .on_data = on_data, .on_end = on_end };

static int read_all(struct seen *s, const uint8_t *data, size_t size, size_t piece, bool *ret_done)
{
	struct tar_reader *r = tar_reader_new(&ops, s);
	int rc = 0;

	MUST(r);
	for (size_t i = 0; rc == 0 && i < size; i += piece)
		rc = tar_reader_put(r, data + i, size - i < piece ? size - i : piece);
	*ret_done = tar_reader_done(r);
	tar_reader_free(r);
	return rc;
}

/* A change of a header would always be found by its checksum, and nothing behind that be reached. */
static void mend_checksums(uint8_t *data, size_t size)
{
	for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
		unsigned sum = 0;

		memset(data + at + 148, ' ', 8);
		for (size_t i = 0; i < TAR_BLOCK; i++)
			sum += data[at + i];
		if (sum != 8 * ' ')
			(void)snprintf((char *)data + at + 148, 8, "%06o", sum);
		else
			memset(data + at + 148, 0, 8);
	}
}

static void try(const uint8_t *data, size_t size, size_t piece)
{
	struct seen whole = { .text = BUF_INIT(1 << 20) }, cut = { .text = BUF_INIT(1 << 20) };
	bool whole_done, cut_done;

	int a = read_all(&whole, data, size, size + 1, &whole_done);
	int b = read_all(&cut, data, size, piece, &cut_done);

	MUST(a == b && whole_done == cut_done);
	MUST(whole.text.bad == cut.text.bad);
	MUST(whole.text.n == cut.text.n && (whole.text.n == 0 || memcmp(whole.text.p, cut.text.p, whole.text.n) == 0));
	buf_done(&whole.text);
	buf_done(&cut.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	try(data + 1, size - 1, 1u + data[0]);

	uint8_t *copy = malloc(size);
	MUST(copy);
	memcpy(copy, data + 1, size - 1);
	mend_checksums(copy, size - 1);
	try(copy, size - 1, 1u + data[0]);
	free(copy);
	return 0;
}
