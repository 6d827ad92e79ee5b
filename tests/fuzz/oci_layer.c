/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the archive of a layer, laid over a small tree in a directory beside which there is something that must
 * stay. The first byte gives the piece size; the reader of archives must see the same however they are cut. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "engine/disk/tree.h"
#include "fuzz.h"
#include "oci/layer.h"
#include "oci/tape.h"

/* --- the reader --- */

struct seen {
	struct buf text;
	uint64_t size, at; /* of the file */
	bool in_file;
};

static int on_entry(void *user, const struct tape_entry *t)
{
	struct seen *s = user;

	MUST(!s->in_file);
	MUST(strlen(t->name) > 0 && strlen(t->name) < TAPE_NAME_MAX && strlen(t->target) < TAPE_NAME_MAX &&
	    t->n_xattrs <= TAPE_XATTRS_MAX);
	MUST((t->mode & ~07777u) == 0 && (t->type == TAPE_FILE || t->size == 0));
	s->in_file = t->type == TAPE_FILE;
	s->size = t->size;
	s->at = 0;
	buf_fmt(&s->text, "[%d %s %s %llu %llu]", t->type, t->name, t->target, (unsigned long long)t->size,
	    (unsigned long long)t->uid);
	return 0;
}

static int on_data(void *user, uint64_t at, const void *p, size_t n)
{
	struct seen *s = user;

	MUST(s->in_file && n > 0 && at >= s->at && at <= s->size && n <= s->size - at);
	s->at = at + n;
	buf_put(&s->text, p, n);
	return 0;
}

static int on_end(void *user)
{
	struct seen *s = user;

	MUST(s->in_file);
	s->in_file = false;
	buf_ch(&s->text, '.');
	return 0;
}

static const struct tape_ops ops = { .on_entry = on_entry, .on_data = on_data, .on_end = on_end };

static int read_all(struct seen *s, const uint8_t *data, size_t size, size_t piece)
{
	struct tape *t = tape_new(&ops, s);
	int rc = 0;

	MUST(t);
	for (size_t i = 0; rc == 0 && i < size; i += piece)
		rc = tape_put(t, data + i, size - i < piece ? size - i : piece);
	MUST(tape_why(t));
	tape_free(t);
	return rc;
}

static void try_reader(const uint8_t *data, size_t size, size_t piece)
{
	struct seen whole = { .text = BUF_INIT(1 << 20) }, cut = { .text = BUF_INIT(1 << 20) };

	MUST(read_all(&whole, data, size, size + 1) == read_all(&cut, data, size, piece));
	MUST(whole.text.bad == cut.text.bad);
	MUST(whole.text.n == cut.text.n && (whole.text.n == 0 || memcmp(whole.text.p, cut.text.p, whole.text.n) == 0));
	buf_done(&whole.text);
	buf_done(&cut.text);
}

/* --- the tree --- */

static char dir[64];
static int dir_fd = -1;

static void remove_dir(void)
{
	(void)tree_remove(AT_FDCWD, dir);
}

static void make_place(void)
{
	if (dir_fd >= 0)
		return;
	(void)snprintf(dir, sizeof dir, "%s/atoll-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	MUST(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(dir_fd >= 0 && mkdirat(dir_fd, "out", 0700) == 0 && mkdirat(dir_fd, "out/keep", 0700) == 0);
	(void)atexit(remove_dir);
}

static void try_layer(const uint8_t *data, size_t size, size_t piece)
{
	struct layer_totals totals = { .max_bytes = 1 << 20, .max_entries = 200 };
	struct err e = ERR_INIT;
	struct stat st;
	int rc = 0;

	MUST(mkdirat(dir_fd, "in", 0755) == 0 && mkdirat(dir_fd, "in/usr", 0755) == 0 &&
	    mkdirat(dir_fd, "in/usr/lib", 0755) == 0);
	MUST(symlinkat("usr/lib", dir_fd, "in/lib") == 0 && symlinkat("../out", dir_fd, "in/up") == 0);
	autoclose int in = openat(dir_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct layer *l = layer_new(in, &totals);

	MUST(l);
	for (size_t i = 0; rc == 0 && i < size; i += piece)
		rc = layer_put(l, data + i, size - i < piece ? size - i : piece, &e);
	if (rc == 0)
		rc = layer_end(l, &e);
	MUST(rc == 0 || (e.no == -rc && e.text[0]));
	layer_free(l);
	MUST(totals.bytes <= totals.max_bytes && totals.entries <= totals.max_entries);
	/* Nothing new outside, nothing gone. */
	MUST(fstatat(dir_fd, "out", &st, 0) == 0 && st.st_nlink == 3 && fstatat(dir_fd, "out/keep", &st, 0) == 0 &&
	    st.st_nlink == 2);
	MUST(tree_remove(dir_fd, "in") == 0);
}

/* A change of a header would always be found by its checksum, and nothing behind that be reached. */
static void mend_checksums(uint8_t *data, size_t size)
{
	for (size_t at = 0; at + TAPE_BLOCK <= size; at += TAPE_BLOCK) {
		unsigned sum = 0;

		if (memcmp(data + at + 257, "ustar", 5) != 0)
			continue;
		memset(data + at + 148, ' ', 8);
		for (size_t i = 0; i < TAPE_BLOCK; i++)
			sum += data[at + i];
		(void)snprintf((char *)data + at + 148, 8, "%06o", sum);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	make_place();
	uint8_t *copy = malloc(size);
	size_t piece = 1u + data[0];

	MUST(copy);
	memcpy(copy, data + 1, size - 1);
	try_reader(copy, size - 1, piece);
	mend_checksums(copy, size - 1);
	try_reader(copy, size - 1, piece);
	try_layer(copy, size - 1, piece);
	free(copy);
	return 0;
}
