/* SPDX-License-Identifier: Apache-2.0 */
/* oci/tape: headers and content of an archive, parsed by a state machine. */
#include "oci/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/tar_head.h"
#include "oci/tape_pax.h"

#define SIZE_MAX_ (INT64_MAX / 4)

/* GNU's old sparse format: the header block has pairs of numbers, and a flag whether another block of them
 * follows. */
enum {
	SPARSE = 386,
	SPARSE_N = 4,
	EXTENDED = 482,
	REAL_SIZE = 483,
	MORE_N = 21,
	MORE_EXTENDED = 504,
	PAIR = 24,
	NUMBER = 12
};

enum state { IN_HEADER, IN_EXTRA, IN_SPARSE, IN_MAP, IN_FILE, IN_PADDING, AT_END };

struct tape {
	const struct tape_ops *ops;
	void *user;
	enum state state;
	const char *why;        /* reason of a refusal */
	char block[TAPE_BLOCK]; /* a header, or a block of a map */
	size_t n_block;
	char header[TAPE_BLOCK]; /* of the entry whose sparse map is still being read */
	struct buf extra;        /* content of a pax header, a long name or a map */
	char extra_type;
	uint64_t left, padding; /* bytes of the content, and of the padding after it */
	bool zero_before;       /* the last block was all zero */
	bool begun;             /* a header was seen */
	struct pax pax;
	/* of the current file */
	size_t segment;
	uint64_t in_segment;
	bool sparse;
	char name[TAPE_NAME_MAX], target[TAPE_NAME_MAX];
};

struct tape *tape_new(const struct tape_ops *ops, void *user)
{
	struct tape *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->ops = ops;
	t->user = user;
	t->extra = BUF_INIT(PAX_TEXT_MAX + TAPE_BLOCK);
	pax_init(&t->pax);
	return t;
}

void tape_free(struct tape *t)
{
	if (!t)
		return;
	buf_done(&t->extra);
	pax_done(&t->pax);
	free(t);
}

const char *tape_why(const struct tape *t)
{
	return t->why ? t->why : "it is no tape archive";
}

bool tape_complete(const struct tape *t)
{
	return t->state == AT_END || (t->begun && t->state == IN_HEADER && t->n_block == 0 && t->pax.name.n == 0);
}

static int refuse(struct tape *t, const char *why)
{
	if (!t->why)
		t->why = why;
	return -EBADMSG;
}

/* --- headers --- */

static int read_size(const char *p, size_t n, int64_t *ret)
{
	return tar_number(p, n, ret) < 0 || *ret < 0 || *ret > SIZE_MAX_ ? -EBADMSG : 0;
}

static int read_names(struct tape *t, const char *b)
{
	if (tar_name_of(b, buf_view(&t->pax.name), t->name) < 0)
		return refuse(t, "a name is empty, too long or has a NUL in it");
	if (tar_target_of(b, buf_view(&t->pax.target), t->target) < 0)
		return refuse(t, "the target of a link is too long or has a NUL in it");
	return 0;
}

static int type_of(char c, enum tape_type *ret)
{
	switch (c) {
	case '0':
	case '\0':
	case '7':
	case 'S':
		*ret = TAPE_FILE;
		return 0;
	case '1':
		*ret = TAPE_HARDLINK;
		return 0;
	case '2':
		*ret = TAPE_SYMLINK;
		return 0;
	case '3':
		*ret = TAPE_CHAR;
		return 0;
	case '4':
		*ret = TAPE_BLOCKDEV;
		return 0;
	case '5':
		*ret = TAPE_DIR;
		return 0;
	case '6':
		*ret = TAPE_FIFO;
		return 0;
	default:
		return -EBADMSG;
	}
}

static void begin_content(struct tape *t, uint64_t size, enum state state)
{
	t->left = size;
	t->padding = tar_padding(size);
	t->state = state;
}

static int fill_entry(struct tape *t, const char *b, struct tape_entry *en)
{
	const struct pax *x = &t->pax;
	int64_t mode, uid, gid, mtime;

	if (type_of(b[TAR_TYPE], &en->type) < 0)
		return refuse(t, "there is an entry of an unknown type");
	if (tar_number(b + TAR_MODE, 8, &mode) < 0 || tar_number(b + TAR_UID, 8, &uid) < 0 ||
	    tar_number(b + TAR_GID, 8, &gid) < 0 || tar_number(b + TAR_MTIME, 12, &mtime) < 0)
		return refuse(t, "a header has something that is no number");
	if (read_names(t, b) < 0)
		return -EBADMSG;
	/* old tar formats mark a directory by a trailing slash */
	if (b[TAR_TYPE] != 'S' && en->type == TAPE_FILE && str_ends(str_of(t->name), "/"))
		en->type = TAPE_DIR;
	en->name = t->name;
	en->target = t->target;
	en->mode = (uint32_t)mode & 07777;
	en->uid = (uint64_t)(x->uid >= 0 ? x->uid : uid);
	en->gid = (uint64_t)(x->gid >= 0 ? x->gid : gid);
	en->mtime_s = x->has_mtime ? x->mtime_s : mtime;
	en->mtime_ns = x->has_mtime ? x->mtime_ns : 0;
	en->xattrs = x->xattrs;
	en->n_xattrs = x->n_xattrs;
	return 0;
}

/* The segments must match the data exactly and lie within the file. */
static int check_map(struct tape *t, uint64_t data, uint64_t real)
{
	const struct tape_map *m = &t->pax.map;
	uint64_t sum = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].n > real || m->v[i].at > real - m->v[i].n || m->v[i].n > data - sum)
			return refuse(t, "the map of a sparse file does not fit it");
		sum += m->v[i].n;
	}
	return sum == data ? 0 : refuse(t, "the map of a sparse file does not fit its data");
}

/* The entry and its sparse map are known: the rest of its content is file data. */
static int begin_entry(struct tape *t, const char *b, uint64_t data, uint64_t padding)
{
	struct tape_entry en = { 0 };

	if (fill_entry(t, b, &en) < 0)
		return -EBADMSG;
	t->sparse = t->pax.sparse && en.type == TAPE_FILE;
	if (t->pax.sparse && en.type != TAPE_FILE)
		return refuse(t, "something else than a file is sparse");
	if (t->sparse && (t->pax.real_size < 0 || t->pax.has_pending))
		return refuse(t, "a sparse file has no size");
	if (t->sparse && check_map(t, data, (uint64_t)t->pax.real_size) < 0)
		return -EBADMSG;
	if (en.type != TAPE_FILE && data > 0 && en.type != TAPE_DIR && en.type != TAPE_HARDLINK)
		return refuse(t, "something else than a file has content");
	/* Some writers set the size of a hard link's target or of a directory, but no content follows. */
	if (en.type != TAPE_FILE)
		data = padding = 0;
	en.sparse = t->sparse;
	en.size = t->sparse ? (uint64_t)t->pax.real_size : data;
	t->segment = 0;
	t->in_segment = 0;
	t->left = data;
	t->padding = padding;
	t->state = en.type == TAPE_FILE ? IN_FILE : IN_PADDING;
	return t->ops->on_entry(t->user, &en);
}

static int take_pairs(struct tape *t, const char *p, int n)
{
	for (int i = 0; i < n; i++, p += PAIR) {
		int64_t at, len;

		if (!p[0] && !p[NUMBER])
			break;
		if (read_size(p, NUMBER, &at) < 0 || read_size(p + NUMBER, NUMBER, &len) < 0)
			return refuse(t, "the map of a sparse file has something that is no number");
		int rc = tape_map_add(&t->pax.map, (uint64_t)at, (uint64_t)len);
		if (rc < 0)
			return rc == -EBADMSG ? refuse(t, "the map of a sparse file overlaps itself") : rc;
	}
	return 0;
}

static int take_old_sparse(struct tape *t, const char *b, int64_t size)
{
	if (read_size(b + REAL_SIZE, NUMBER, &t->pax.real_size) < 0)
		return refuse(t, "a sparse file has no size");
	t->pax.sparse = true;
	tape_map_clear(&t->pax.map);
	int rc = take_pairs(t, b + SPARSE, SPARSE_N);

	if (rc < 0)
		return rc;
	if (!b[EXTENDED])
		return begin_entry(t, b, (uint64_t)size, tar_padding((uint64_t)size));
	memcpy(t->header, b, TAPE_BLOCK);
	t->left = (uint64_t)size;
	t->state = IN_SPARSE;
	return 0;
}

/* Handles another block of pairs after the header of an old sparse file. */
static int take_more_sparse(struct tape *t, const char *b)
{
	int rc = take_pairs(t, b, MORE_N);

	if (rc < 0 || b[MORE_EXTENDED])
		return rc;
	return begin_entry(t, t->header, t->left, tar_padding(t->left));
}

static int take_header(struct tape *t, const char *b)
{
	int64_t size;

	if (tar_is_zero(b)) {
		t->state = t->zero_before ? AT_END : IN_HEADER;
		t->zero_before = true;
		return 0;
	}
	t->zero_before = false;
	if (!tar_checksum_ok(b))
		return refuse(t, t->begun ? "the checksum of a header is wrong" : NULL);
	t->begun = true;
	if (read_size(b + TAR_SIZE, 12, &size) < 0)
		return refuse(t, "a size is no number");
	if (tar_is_extra(b)) {
		if (size > PAX_TEXT_MAX)
			return refuse(t, "a header is too long");
		t->extra_type = b[TAR_TYPE];
		buf_clear(&t->extra);
		begin_content(t, (uint64_t)size, IN_EXTRA);
		return 0;
	}
	if (t->pax.size >= 0)
		size = t->pax.size;
	if (b[TAR_TYPE] == 'S')
		return take_old_sparse(t, b, size);
	if (t->pax.sparse && t->pax.map_in_data) {
		memcpy(t->header, b, TAPE_BLOCK);
		buf_clear(&t->extra);
		begin_content(t, (uint64_t)size, IN_MAP);
		return 0;
	}
	return begin_entry(t, b, (uint64_t)size, tar_padding((uint64_t)size));
}

static int take_extra(struct tape *t)
{
	struct str text = buf_view(&t->extra);
	int rc;

	if (t->extra.bad)
		return -ENOMEM;
	if (t->extra_type == 'x' || t->extra_type == 'g') {
		rc = pax_read(&t->pax, text, t->extra_type == 'g');
		return rc == -EBADMSG ? refuse(t, "a pax header is wrong") : rc;
	}
	struct buf *to = t->extra_type == 'L' ? &t->pax.name : &t->pax.target;

	buf_clear(to);
	buf_str(to, tar_text(text.p ? text.p : "", text.n));
	return to->bad ? refuse(t, "a name is too long") : 0;
}

/* Handles a block of the map that precedes the data of a sparse file. */
static int take_map(struct tape *t, const char *b)
{
	if (t->left < TAPE_BLOCK)
		return refuse(t, "the map of a sparse file is cut off");
	t->left -= TAPE_BLOCK;
	buf_put(&t->extra, b, TAPE_BLOCK);
	if (t->extra.bad)
		return refuse(t, "the map of a sparse file is too long");
	int rc = pax_read_map(&t->pax.map, buf_view(&t->extra));

	if (rc < 0)
		return rc == -EBADMSG ? refuse(t, "the map of a sparse file is wrong") : rc;
	return rc == 0 ? 0 : begin_entry(t, t->header, t->left, t->padding);
}

/* --- bytes --- */

/* Content of a sparse file, segment by segment. */
static int put_sparse(struct tape *t, const char *p, size_t n)
{
	const struct tape_map *m = &t->pax.map;
	int rc = 0;

	while (rc == 0 && n > 0) {
		const struct tape_segment *s = &m->v[t->segment];
		uint64_t room = s->n - t->in_segment;
		size_t now = n < room ? n : (size_t)room;

		if (now > 0)
			rc = t->ops->on_data(t->user, s->at + t->in_segment, p, now);
		t->in_segment += now;
		p += now;
		n -= now;
		if (t->in_segment == s->n) {
			t->segment++;
			t->in_segment = 0;
		}
	}
	return rc;
}

static int end_content(struct tape *t)
{
	int rc = 0;

	if (t->left > 0)
		return 0;
	if (t->state == IN_EXTRA) {
		rc = take_extra(t);
	} else {
		rc = t->ops->on_end(t->user);
		pax_clear(&t->pax);
	}
	t->state = IN_PADDING;
	return rc;
}

static int take_block(struct tape *t)
{
	int rc = t->state == IN_HEADER ? take_header(t, t->block)
	    : t->state == IN_MAP       ? take_map(t, t->block)
				       : take_more_sparse(t, t->block);

	/* an entry without content: its pax records do not apply to the next one */
	if (t->state == IN_PADDING)
		pax_clear(&t->pax);
	return rc;
}

/* Consumes some of *in. */
static int step(struct tape *t, struct str *in)
{
	bool blocks = t->state == IN_HEADER || t->state == IN_SPARSE || t->state == IN_MAP;
	uint64_t want = blocks ? TAPE_BLOCK - t->n_block : t->state == IN_PADDING ? t->padding : t->left;
	size_t n = in->n < want ? in->n : (size_t)want;
	int rc = 0;

	if (blocks) {
		memcpy(t->block + t->n_block, in->p, n);
		t->n_block += n;
		if (t->n_block == TAPE_BLOCK) {
			t->n_block = 0;
			rc = take_block(t);
		}
	} else if (t->state == IN_PADDING) {
		t->padding -= n;
	} else {
		uint64_t at = t->in_segment;

		if (t->state == IN_EXTRA)
			buf_put(&t->extra, in->p, n);
		else if (n > 0 && t->sparse)
			rc = put_sparse(t, in->p, n);
		else if (n > 0)
			rc = t->ops->on_data(t->user, at, in->p, n);
		if (t->state == IN_FILE && !t->sparse)
			t->in_segment += n;
		t->left -= n;
	}
	str_skip(in, n);
	return rc;
}

int tape_put(struct tape *t, const void *p, size_t n)
{
	struct str in = { p, n };
	int rc = 0;

	while (rc == 0 && in.n > 0 && t->state != AT_END) {
		rc = step(t, &in);
		if (rc == 0 && (t->state == IN_EXTRA || t->state == IN_FILE))
			rc = end_content(t);
		if (t->state == IN_PADDING && t->padding == 0)
			t->state = IN_HEADER;
	}
	return rc;
}
