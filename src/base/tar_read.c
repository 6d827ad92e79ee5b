/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar_read: parses an archive incrementally. See base/tar_head.h for how oci/tape.c differs. */
#include <errno.h>
#include <stdlib.h>

#include "base/tar.h"
#include "base/tar_head.h"

#define EXTRA_MAX (64 * 1024) /* of one pax header or long name */

enum state { IN_HEADER, IN_EXTRA, IN_FILE, IN_PADDING, AT_END };

struct tar_reader {
	const struct tar_reader_ops *ops;
	void *user;
	enum state state;
	struct buf block; /* an incomplete header */
	struct buf extra; /* content of a pax header or a long name */
	char extra_type;
	uint64_t left, padding; /* bytes of content left, and of padding after it */
	bool zero_before;       /* the last block was all zero */
	/* from extra headers, for the next entry; name and target are empty and size is -1 unless given */
	struct buf name, target;
	int64_t size;
	/* of the current entry */
	char name_z[TAR_NAME_MAX], target_z[TAR_NAME_MAX];
};

struct tar_reader *tar_reader_new(const struct tar_reader_ops *ops, void *user)
{
	struct tar_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->ops = ops;
	r->user = user;
	r->block = BUF_INIT(TAR_BLOCK);
	r->extra = BUF_INIT(EXTRA_MAX);
	r->name = BUF_INIT(TAR_NAME_MAX);
	r->target = BUF_INIT(TAR_NAME_MAX);
	r->size = -1;
	return r;
}

void tar_reader_free(struct tar_reader *r)
{
	if (!r)
		return;
	buf_done(&r->block);
	buf_done(&r->extra);
	buf_done(&r->name);
	buf_done(&r->target);
	free(r);
}

bool tar_reader_done(const struct tar_reader *r)
{
	return r->state == AT_END;
}

/* --- headers --- */

static int read_names(struct tar_reader *r, const char *b)
{
	if (r->name.bad || r->target.bad || tar_name_of(b, buf_view(&r->name), r->name_z) < 0)
		return -EBADMSG;
	return tar_target_of(b, buf_view(&r->target), r->target_z);
}

static enum tar_type type_of(char c)
{
	switch (c) {
	case '0':
	case '\0':
	case '7':
		return TAR_FILE;
	case '1':
		return TAR_HARDLINK;
	case '2':
		return TAR_SYMLINK;
	case '5':
		return TAR_DIR;
	default:
		return TAR_OTHER;
	}
}

static void forget_extra(struct tar_reader *r)
{
	buf_clear(&r->name);
	buf_clear(&r->target);
	r->size = -1;
}

static void begin_content(struct tar_reader *r, uint64_t size, enum state state)
{
	r->left = size;
	r->padding = tar_padding(size);
	r->state = state;
}

static int begin_entry(struct tar_reader *r, const char *b, int64_t size)
{
	struct tar_entry e = { .type = type_of(b[TAR_TYPE]), .name = r->name_z, .target = r->target_z };
	int64_t mode, mtime;

	if (tar_number(b + TAR_MODE, 8, &mode) < 0 || tar_number(b + TAR_MTIME, 12, &mtime) < 0 || read_names(r, b) < 0)
		return -EBADMSG;
	if (r->size >= 0)
		size = r->size;
	forget_extra(r);
	if (e.type == TAR_FILE && str_ends(str_of(r->name_z), "/")) /* the oldest tars mark a directory this way */
		e.type = TAR_DIR;
	e.mode = (unsigned)mode & 0777;
	e.mtime_s = mtime;
	e.size = e.type == TAR_FILE ? (uint64_t)size : 0;
	int rc = r->ops->on_entry(r->user, &e);
	if (rc != 0)
		return rc;
	/* Content of an entry that is not a file (there should be none) is skipped like padding. */
	begin_content(r, e.type == TAR_FILE || e.type == TAR_OTHER ? (uint64_t)size : 0, IN_FILE);
	if (e.type != TAR_FILE) {
		r->padding += r->left;
		r->left = 0;
		r->state = IN_PADDING;
	}
	return 0;
}

static int take_header(struct tar_reader *r, const char *b)
{
	int64_t size;

	if (tar_is_zero(b)) {
		if (r->zero_before)
			r->state = AT_END;
		r->zero_before = true;
		return 0;
	}
	r->zero_before = false;
	if (!tar_checksum_ok(b) || tar_number(b + TAR_SIZE, 12, &size) < 0 || size < 0)
		return -EBADMSG;
	if (tar_is_extra(b)) {
		if (size > EXTRA_MAX)
			return -EBADMSG;
		r->extra_type = b[TAR_TYPE];
		buf_clear(&r->extra);
		begin_content(r, (uint64_t)size, IN_EXTRA);
		return 0;
	}
	return begin_entry(r, b, size);
}

/* --- pax records and long names --- */

static int take_pax(struct tar_reader *r)
{
	struct str all = buf_view(&r->extra), key, value;
	int rc;

	while ((rc = tar_pax_next(&all, &key, &value)) > 0) {
		if (str_is(key, "path") || str_is(key, "linkpath")) {
			struct buf *to = str_is(key, "path") ? &r->name : &r->target;

			buf_clear(to);
			buf_str(to, value);
		} else if (str_is(key, "size") && str_to_i64(value, 0, INT64_MAX / 2, &r->size) < 0) {
			return -EBADMSG;
		}
	}
	return rc;
}

static int take_extra(struct tar_reader *r)
{
	struct str text = buf_view(&r->extra);

	if (r->extra.bad)
		return -EBADMSG;
	if (r->extra_type == 'x')
		return take_pax(r);
	if (r->extra_type == 'g') /* global header: nothing in it matters here */
		return 0;
	struct buf *to = r->extra_type == 'L' ? &r->name : &r->target;
	buf_clear(to);
	buf_str(to, tar_text(text.p ? text.p : "", text.n));
	return 0;
}

/* --- bytes --- */

static int end_content(struct tar_reader *r)
{
	int rc = 0;

	if (r->left > 0)
		return 0;
	if (r->state == IN_EXTRA)
		rc = take_extra(r);
	else if (r->state == IN_FILE)
		rc = r->ops->on_end(r->user);
	r->state = IN_PADDING;
	return rc;
}

/* Consumes some of the input. */
static int step(struct tar_reader *r, struct str *in)
{
	uint64_t want = r->state == IN_HEADER ? TAR_BLOCK - r->block.n : r->state == IN_PADDING ? r->padding : r->left;
	size_t n = in->n < want ? in->n : (size_t)want;
	int rc = 0;

	if (r->state == IN_HEADER) {
		buf_put(&r->block, in->p, n);
		if (r->block.bad)
			return -ENOMEM;
		if (r->block.n == TAR_BLOCK) {
			rc = take_header(r, r->block.p);
			buf_clear(&r->block);
		}
	} else if (r->state == IN_PADDING) {
		r->padding -= n;
	} else {
		if (r->state == IN_EXTRA)
			buf_put(&r->extra, in->p, n);
		else if (n > 0)
			rc = r->ops->on_data(r->user, in->p, n);
		r->left -= n;
	}
	str_skip(in, n);
	return rc;
}

int tar_reader_put(struct tar_reader *r, const void *p, size_t n)
{
	struct str in = { p, n };
	int rc = 0;

	while (rc == 0 && in.n > 0 && r->state != AT_END) {
		rc = step(r, &in);
		if (rc == 0 && (r->state == IN_EXTRA || r->state == IN_FILE))
			rc = end_content(r);
		if (r->state == IN_PADDING && r->padding == 0)
			r->state = IN_HEADER;
	}
	return rc;
}
