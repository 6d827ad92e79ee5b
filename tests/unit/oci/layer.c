/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer: layers over layers, whiteouts, and archives that try to write elsewhere. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "engine/disk/tree.h"
#include "oci/layer.h"
#include "unit.h"

struct place { /* dir/in is the image, dir/out must stay as it is */
	char dir[64];
	int dir_fd, in_fd;
	struct layer_totals totals;
	struct buf tar;
	struct err e;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	(void)snprintf(p->dir, sizeof p->dir, "/tmp/atoll-layer-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	p->dir_fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(p->dir_fd, "in", 0755) < 0 || mkdirat(p->dir_fd, "out", 0755) < 0 ||
	    file_write(p->dir_fd, "out", "") == 0)
		return -1;
	int fd = openat(p->dir_fd, "out/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "outside", 7) != 7)
		return -1;
	(void)close(fd);
	p->in_fd = openat(p->dir_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->totals = (struct layer_totals) { .max_bytes = 1 << 20, .max_entries = 1000 };
	p->tar = BUF_INIT(4u << 20);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	char text[16];

	assert_int_equal(file_read(p->dir_fd, "out/file", text, sizeof text), 7);
	assert_string_equal(text, "outside");
	(void)close(p->in_fd);
	(void)close(p->dir_fd);
	(void)tree_remove(AT_FDCWD, p->dir);
	buf_done(&p->tar);
	free(p);
	return 0;
}

/* --- archives --- */

static void put_block(struct buf *b, const void *data, size_t n)
{
	buf_put(b, data, n);
	while (b->n % 512)
		buf_ch(b, '\0');
}

static void add_raw(struct buf *b, char type, const char *name, const char *link, unsigned mode, unsigned uid,
    const void *data, size_t n)
{
	char h[512] = { 0 };
	unsigned sum = 0;

	(void)snprintf(h, 100, "%s", name);
	(void)snprintf(h + 100, 8, "%07o", mode);
	(void)snprintf(h + 108, 8, "%07o", uid);
	(void)snprintf(h + 116, 8, "%07o", uid);
	(void)snprintf(h + 124, 12, "%011zo", n);
	(void)snprintf(h + 136, 12, "%011o", 1000000u);
	memset(h + 148, ' ', 8);
	h[156] = type;
	(void)snprintf(h + 157, 100, "%s", link);
	memcpy(h + 257,
	    "ustar\0"
	    "00",
	    8);
	for (size_t i = 0; i < sizeof h; i++)
		sum += (unsigned char)h[i];
	(void)snprintf(h + 148, 8, "%06o", sum);
	buf_put(b, h, sizeof h);
	put_block(b, data, n);
}

static void add(struct place *p, char type, const char *name, const char *text)
{
	bool file = type == '0';

	add_raw(&p->tar, type, name, file ? "" : text, type == '5' ? 0755 : 0644, 0, file ? text : NULL,
	    file ? strlen(text) : 0);
}

static void put_record(struct buf *b, const char *key, const void *value, size_t n)
{
	size_t len = strlen(key) + n + 3;

	len += len + 1 < 10 ? 1 : len + 2 < 100 ? 2 : 3;
	buf_fmt(b, "%zu %s=", len, key);
	buf_put(b, value, n);
	buf_ch(b, '\n');
}

static void add_pax(struct place *p, const char *key, const void *value, size_t n)
{
	autobuf struct buf b = BUF_INIT(1 << 16);

	put_record(&b, key, value, n);
	add_raw(&p->tar, 'x', "pax", "", 0644, 0, b.p, b.n);
}

/* pax 1.0: the map of the holes stands before the data. */
static void add_sparse(struct place *p, const char *name, const char *real_size, const char *map, const char *text)
{
	autobuf struct buf b = BUF_INIT(1 << 16), data = BUF_INIT(1 << 16);

	put_record(&b, "GNU.sparse.major", "1", 1);
	put_record(&b, "GNU.sparse.minor", "0", 1);
	put_record(&b, "GNU.sparse.name", name, strlen(name));
	put_record(&b, "GNU.sparse.realsize", real_size, strlen(real_size));
	add_raw(&p->tar, 'x', "pax", "", 0644, 0, b.p, b.n);
	put_block(&data, map, strlen(map));
	buf_z(&data, text);
	add_raw(&p->tar, '0', "GNUSparseFile.0/x", "", 0644, 0, data.p, data.n);
}

/* Lays what was added, in pieces of a size that fits nothing, and begins a new archive. */
static int lay(struct place *p)
{
	static const char end[1024];
	struct layer *l = layer_new(p->in_fd, &p->totals);
	int rc = 0;

	buf_put(&p->tar, end, sizeof end);
	assert_false(p->tar.bad);
	p->e = ERR_INIT;
	for (size_t i = 0; rc == 0 && i < p->tar.n; i += 333)
		rc = layer_put(l, p->tar.p + i, p->tar.n - i < 333 ? p->tar.n - i : 333, &p->e);
	if (rc == 0)
		rc = layer_end(l, &p->e);
	layer_free(l);
	buf_clear(&p->tar);
	return rc;
}

static void assert_text(struct place *p, const char *path, const char *want)
{
	char text[256];

	if (file_read(p->in_fd, path, text, sizeof text) < 0)
		fail_msg("no '%s'", path);
	assert_string_equal(text, want);
}

static bool there(struct place *p, const char *path)
{
	return faccessat(p->in_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- what must work --- */

static void a_layer_becomes_files(void **state)
{
	struct place *p = *state;
	struct stat st;
	char to[64] = "";

	add(p, '5', "./", "");
	add(p, '5', "./etc/", "");
	add(p, '0', "./etc/hosts", "hello");
	add(p, '2', "etc/link", "/etc/hosts");
	add(p, '1', "etc/hard", "etc/hosts");
	add(p, '6', "etc/fifo", "");
	add_raw(&p->tar, '0', "bin/su", "", 04755, 0, "x", 1);
	add_raw(&p->tar, '0', "home/u/f", "", 0600, 1000, "y", 1);
	assert_int_equal(lay(p), 0);
	assert_text(p, "etc/hosts", "hello");
	assert_text(p, "etc/hard", "hello");
	assert_true(readlinkat(p->in_fd, "etc/link", to, sizeof to - 1) > 0);
	assert_string_equal(to, "/etc/hosts");
	assert_int_equal(fstatat(p->in_fd, "bin/su", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 04755);
	assert_int_equal(st.st_mtime, 1000000);
	assert_int_equal(fstatat(p->in_fd, "etc", &st, 0), 0);
	assert_int_equal(st.st_mtime, 1000000); /* although files were put into it later */
	assert_int_equal(fstatat(p->in_fd, "etc/hard", &st, 0), 0);
	assert_int_equal(st.st_nlink, 2);
	if (geteuid() == 0) {
		assert_int_equal(fstatat(p->in_fd, "home/u/f", &st, 0), 0);
		assert_int_equal(st.st_uid, 1000);
	}
	assert_int_equal(p->totals.bytes, 7);
}

static void later_layers_win(void **state)
{
	struct place *p = *state;

	add(p, '0', "a", "one");
	add(p, '5', "dir", "");
	add(p, '0', "dir/x", "x");
	add(p, '2', "to-dir", "dir");
	assert_int_equal(lay(p), 0);
	add(p, '0', "a", "two");
	add(p, '0', "dir", "now a file");
	add(p, '5', "to-dir", "");
	add(p, '0', "to-dir/y", "y");
	assert_int_equal(lay(p), 0);
	assert_text(p, "a", "two");
	assert_text(p, "dir", "now a file");
	assert_text(p, "to-dir/y", "y");
}

static void whiteouts_take_away_what_is_below(void **state)
{
	struct place *p = *state;

	add(p, '0', "d/a", "a");
	add(p, '0', "d/b", "b");
	add(p, '0', "e/f/g", "g");
	assert_int_equal(lay(p), 0);
	add(p, '0', "d/.wh.a", "");
	add(p, '0', ".wh.e", "");
	add(p, '0', ".wh.never-there", "");
	add(p, '0', "nowhere/.wh.x", "");
	add(p, '0', ".wh..wh.plnk", "");
	assert_int_equal(lay(p), 0);
	assert_false(there(p, "d/a") || there(p, "e") || there(p, ".wh.e") || there(p, "nowhere"));
	assert_text(p, "d/b", "b");
}

static void whiteouts_spare_what_the_same_layer_brings(void **state)
{
	struct place *p = *state;

	add(p, '0', "d/old", "old");
	add(p, '0', "d/sub/old", "old");
	add(p, '0', "e/old", "old");
	assert_int_equal(lay(p), 0);
	add(p, '0', "d/new", "new"); /* before the mark */
	add(p, '0', "d/sub/new", "new");
	add(p, '0', "d/.wh..wh..opq", "");
	add(p, '0', "d/later", "later");
	add(p, '0', "e/new", "new");
	add(p, '0', ".wh.e", "");
	assert_int_equal(lay(p), 0);
	assert_false(there(p, "d/old") || there(p, "d/sub/old") || there(p, "e/old"));
	assert_text(p, "d/new", "new");
	assert_text(p, "d/sub/new", "new");
	assert_text(p, "d/later", "later");
	assert_text(p, "e/new", "new");
}

static void merged_directories_are_found(void **state)
{
	struct place *p = *state;

	add(p, '5', "usr/lib", "");
	add(p, '2', "lib", "usr/lib");
	add(p, '5', "run", "");
	add(p, '2', "var/run", "/run");
	assert_int_equal(lay(p), 0);
	add(p, '0', "lib/new.so", "so");
	add(p, '0', "var/run/x/pid", "1");
	add(p, '1', "lib/hard.so", "lib/new.so");
	assert_int_equal(lay(p), 0);
	assert_text(p, "usr/lib/new.so", "so");
	assert_text(p, "usr/lib/hard.so", "so");
	assert_text(p, "run/x/pid", "1");
}

static void devices_of_dev_are_left_out(void **state)
{
	struct place *p = *state;

	add(p, '3', "dev/null", "");
	add(p, '4', "./dev/sda", "");
	assert_int_equal(lay(p), 0);
	assert_false(there(p, "dev/null") || there(p, "dev/sda"));
	assert_int_equal(p->totals.devices, 2);
}

static void attributes_that_are_harmless_are_kept(void **state)
{
	struct place *p = *state;
	/* revision 2, effective; net_raw is not to be had in a sandbox, net_bind_service is */
	static const unsigned char raw[20] = { 1, 0, 0, 2, 0, 0x20 }, bind[20] = { 1, 0, 0, 2, 0, 4 };
	char v[64];

	if (geteuid() != 0)
		skip();
	add_pax(p, "SCHILY.xattr.user.note", "hi", 2);
	add(p, '0', "a", "a");
	add_pax(p, "SCHILY.xattr.trusted.overlay.opaque", "y", 1);
	add(p, '5', "b", "");
	add_pax(p, "SCHILY.xattr.security.capability", raw, sizeof raw);
	add(p, '0', "ping", "x");
	add_pax(p, "SCHILY.xattr.security.capability", bind, sizeof bind);
	add(p, '0', "server", "x");
	add(p, '0', "plain", "x");
	assert_int_equal(lay(p), 0);
	assert_int_equal(p->totals.attributes, 2);
	char path[128];
	(void)snprintf(path, sizeof path, "%s/in/server", p->dir);
	assert_int_equal(getxattr(path, "security.capability", v, sizeof v), 20);
	(void)snprintf(path, sizeof path, "%s/in/ping", p->dir);
	assert_true(getxattr(path, "security.capability", v, sizeof v) < 0);
	(void)snprintf(path, sizeof path, "%s/in/plain", p->dir);
	/* what was said of one is not said of the next */
	assert_true(getxattr(path, "security.capability", v, sizeof v) < 0);
	(void)snprintf(path, sizeof path, "%s/in/b", p->dir);
	assert_true(getxattr(path, "trusted.overlay.opaque", v, sizeof v) < 0);
}

static void long_names_and_sparse_files(void **state)
{
	struct place *p = *state;
	char name[200], text[32];
	struct stat st;

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	add_raw(&p->tar, 'L', "././@LongLink", "", 0, 0, name, sizeof name);
	add(p, '0', "short", "gnu");
	name[0] = 'm';
	add_pax(p, "path", name, sizeof name - 1);
	add(p, '0', "short", "pax");
	add_sparse(p, "sparse", "200000", "2\n0\n3\n100000\n3\n", "abcxyz");
	assert_int_equal(lay(p), 0);
	assert_int_equal(fstatat(p->in_fd, "sparse", &st, 0), 0);
	assert_int_equal(st.st_size, 200000);
	assert_int_equal(p->totals.bytes, 12);
	autoclose int fd = openat(p->in_fd, "sparse", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, text, 3, 100000), 3);
	assert_memory_equal(text, "xyz", 3);
	assert_text(p, name, "pax");
	name[0] = 'n';
	assert_text(p, name, "gnu");
}

static void owners_beyond_a_sandbox_are_nobody(void **state)
{
	struct place *p = *state;
	struct stat st;

	if (geteuid() != 0)
		skip();
	add_raw(&p->tar, '0', "f", "", 0644, 70000, "x", 1);
	assert_int_equal(lay(p), 0);
	assert_int_equal(fstatat(p->in_fd, "f", &st, 0), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(p->totals.foreign_owners, 2);
}

/* --- what must not --- */

static void assert_refused(struct place *p, const char *why)
{
	int rc = lay(p);

	if (rc != -EBADMSG || !strstr(p->e.text, why))
		fail_msg("not refused for '%s': %d %s", why, rc, p->e.text);
}

static void names_that_lead_out_are_refused(void **state)
{
	struct place *p = *state;

	add(p, '0', "/etc/passwd", "x");
	assert_refused(p, "absolute");
	add(p, '0', "../out/file", "x");
	assert_refused(p, "'..'");
	add(p, '0', "a/../../out/file", "x");
	assert_refused(p, "'..'");
	add(p, '5', "..", "");
	assert_refused(p, "'..'");
	add(p, '0', "../out/.wh.file", "");
	assert_refused(p, "'..'");
	add(p, '0', "a/.wh...", "");
	assert_int_equal(lay(p), 0); /* no directory a, so nothing to look at */
	add(p, '5', "a", "");
	add(p, '0', "a/.wh...", "");
	assert_refused(p, "whiteout of nothing");
	add(p, '0', "a/.wh.", "");
	assert_refused(p, "whiteout of nothing");
	add(p, '0', ".wh.a/b", "x");
	assert_refused(p, "below a whiteout");
	add(p, '0', ".", "x");
	assert_refused(p, "root is not a directory");
}

static void links_lead_nowhere(void **state)
{
	struct place *p = *state;
	char out[96];

	(void)snprintf(out, sizeof out, "%s/out", p->dir);
	add(p, '2', "up", "../out");
	add(p, '0', "up/file", "x");
	assert_refused(p, "symbolic link");
	add(p, '2', "abs", out);
	add(p, '5', "abs/sub", "");
	assert_refused(p, "symbolic link");
	add(p, '0', "abs/.wh.file", ""); /* planted by the layer before */
	assert_refused(p, "symbolic link");
	add(p, '0', "abs/.wh..wh..opq", "");
	assert_refused(p, "symbolic link");
	add(p, '2', "lib", "../out"); /* has the name of a merged one, and leads elsewhere */
	add(p, '0', "lib/file", "x");
	assert_refused(p, "symbolic link");
	add(p, '2', "f", "../out/file"); /* a file is put in place of a link, never through it */
	add(p, '0', "f", "inside");
	assert_int_equal(lay(p), 0);
	assert_text(p, "f", "inside");
}

static void hard_links_stay_inside(void **state)
{
	struct place *p = *state;

	add(p, '1', "h", "../out/file");
	assert_refused(p, "'..'");
	add(p, '1', "h", "/etc/passwd");
	assert_refused(p, "absolute");
	add(p, '2', "up", "../out");
	add(p, '1', "h", "up/file");
	assert_refused(p, "symbolic link");
	add(p, '1', "h", "not-there");
	assert_refused(p, "not there");
	add(p, '5', "d", "");
	add(p, '1', "h", "d");
	assert_refused(p, "not a file");
	add(p, '1', "h", ".");
	assert_refused(p, "root");
	/* a hard link to a symbolic one is that one again; writing replaces it */
	add(p, '2', "s", "../out/file");
	add(p, '1', "h", "s");
	add(p, '0', "h", "inside");
	assert_int_equal(lay(p), 0);
	assert_text(p, "h", "inside");
}

static void devices_elsewhere_are_refused(void **state)
{
	struct place *p = *state;

	add(p, '3', "tmp/null", "");
	assert_refused(p, "device");
	add(p, '4', "dev", "");
	assert_refused(p, "device");
	add(p, '3', "lower/.wh.x/null", "");
	assert_refused(p, "below a whiteout");
}

static void bombs_are_bounded(void **state)
{
	struct place *p = *state;
	char name[16];

	autofree char *big = calloc(1, 2 << 20);
	add_raw(&p->tar, '0', "big", "", 0644, 0, big, 2 << 20);
	assert_int_equal(lay(p), -EFBIG);
	for (int i = 0; i < 1100; i++) {
		(void)snprintf(name, sizeof name, "f%d", i);
		add(p, '0', name, "");
	}
	assert_int_equal(lay(p), -EFBIG);
	p->totals.entries = 0;
	add_sparse(p, "hole", "2199023255552", "0\n", "");
	assert_int_equal(lay(p), -EFBIG);
	add_sparse(p, "hole", "1000", "1\n900\n200\n", "x"); /* beyond its own end */
	assert_int_equal(lay(p), -EBADMSG);
	add_sparse(p, "hole", "1000", "2\n500\n1\n400\n1\n", "xx");
	assert_int_equal(lay(p), -EBADMSG);
}

static void damaged_archives_are_refused(void **state)
{
	struct place *p = *state;

	add(p, '0', "f", "some text");
	p->tar.p[0] = 'g'; /* the checksum is of another name */
	assert_refused(p, "bad archive");
	add_raw(&p->tar, 'x', "pax", "", 0644, 0, "999 path=x\n", 11);
	add(p, '0', "f", "x");
	assert_refused(p, "pax");
	add_raw(&p->tar, 'g', "pax", "", 0644, 0, "10 path=x\n", 10); /* of all entries: a name for each of them */
	add(p, '0', "f", "x");
	assert_refused(p, "pax");
	add(p, 'Z', "f", "");
	assert_refused(p, "unknown type");

	struct layer *l = layer_new(p->in_fd, &p->totals);
	add(p, '0', "f", "cut off");
	assert_int_equal(layer_put(l, p->tar.p, 700, &p->e), 0);
	assert_int_equal(layer_end(l, &p->e), -EBADMSG);
	layer_free(l);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_layer_becomes_files),
		T(later_layers_win),
		T(whiteouts_take_away_what_is_below),
		T(whiteouts_spare_what_the_same_layer_brings),
		T(merged_directories_are_found),
		T(devices_of_dev_are_left_out),
		T(attributes_that_are_harmless_are_kept),
		T(long_names_and_sparse_files),
		T(owners_beyond_a_sandbox_are_nobody),
		T(names_that_lead_out_are_refused),
		T(links_lead_nowhere),
		T(hard_links_stay_inside),
		T(devices_elsewhere_are_refused),
		T(bombs_are_bounded),
		T(damaged_archives_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
