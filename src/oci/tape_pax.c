/* SPDX-License-Identifier: Apache-2.0 */
/* oci/tape_pax: pax records, and the three formats of sparse maps in them. */
#include "oci/tape_pax.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/tar_head.h"

#define SIZE_MAX_ (INT64_MAX / 4) /* no number is larger, so that sums cannot overflow */

void pax_init(struct pax *p)
{
	*p = (struct pax) { .name = BUF_INIT(TAPE_NAME_MAX),
		.target = BUF_INIT(TAPE_NAME_MAX),
		.text = BUF_INIT(PAX_TEXT_MAX) };
	pax_clear(p);
}

void pax_done(struct pax *p)
{
	buf_done(&p->name);
	buf_done(&p->target);
	buf_done(&p->text);
	free(p->map.v);
}

void pax_clear(struct pax *p)
{
	buf_clear(&p->name);
	buf_clear(&p->target);
	buf_clear(&p->text);
	tape_map_clear(&p->map);
	p->size = p->uid = p->gid = p->real_size = -1;
	p->has_mtime = p->sparse = p->map_in_data = p->has_pending = false;
	p->n_xattrs = 0;
}

void tape_map_clear(struct tape_map *m)
{
	m->n = 0;
}

int tape_map_add(struct tape_map *m, uint64_t at, uint64_t n)
{
	const struct tape_segment *last = m->n ? &m->v[m->n - 1] : NULL;

	if (at > SIZE_MAX_ || n > SIZE_MAX_ || m->n == PAX_SEGMENTS_MAX || (last && at < last->at + last->n))
		return -EBADMSG;
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 32;
		struct tape_segment *v = reallocarray(m->v, cap, sizeof *v);

		if (!v)
			return -ENOMEM;
		m->v = v;
		m->cap = cap;
	}
	m->v[m->n++] = (struct tape_segment) { at, n };
	return 0;
}

static int to_size(struct str v, int64_t *ret)
{
	return str_to_i64(v, 0, SIZE_MAX_, ret) < 0 ? -EBADMSG : 0;
}

/* "1700000000.123456789", possibly negative. */
static int read_time(struct pax *p, struct str v)
{
	struct str fraction = v, whole = str_cut(&fraction, '.');
	uint32_t ns = 0;

	if (str_to_i64(whole, -SIZE_MAX_, SIZE_MAX_, &p->mtime_s) < 0)
		return -EBADMSG;
	for (size_t i = 0; fraction.p && i < 9; i++) {
		char c = i < fraction.n ? fraction.p[i] : '0';

		if (c < '0' || c > '9')
			return -EBADMSG;
		ns = ns * 10 + (uint32_t)(c - '0');
	}
	p->mtime_ns = ns;
	p->has_mtime = true;
	return 0;
}

static int read_map_list(struct pax *p, struct str v)
{
	tape_map_clear(&p->map);
	while (v.p && v.n > 0) {
		struct str at = str_cut(&v, ','), n = str_cut(&v, ',');
		int64_t a, b;

		if (to_size(at, &a) < 0 || to_size(n, &b) < 0)
			return -EBADMSG;
		int rc = tape_map_add(&p->map, (uint64_t)a, (uint64_t)b);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int take_text(struct buf *to, struct str v)
{
	buf_clear(to);
	buf_str(to, v);
	return to->bad || v.n == 0 ? -EBADMSG : 0;
}

/* GNU.sparse.*: key is without that prefix. */
static int take_sparse(struct pax *p, struct str key, struct str v)
{
	int64_t n;

	p->sparse = true;
	if (str_is(key, "name"))
		return take_text(&p->name, v);
	if (str_is(key, "map"))
		return read_map_list(p, v);
	if (to_size(v, &n) < 0)
		return -EBADMSG;
	if (str_is(key, "realsize") || str_is(key, "size")) {
		p->real_size = n;
	} else if (str_is(key, "major")) {
		p->map_in_data = n == 1;
		return n > 1 ? -EBADMSG : 0;
	} else if (str_is(key, "offset")) {
		p->pending_at = (uint64_t)n;
		p->has_pending = true;
	} else if (str_is(key, "numbytes")) {
		if (!p->has_pending)
			return -EBADMSG;
		p->has_pending = false;
		return tape_map_add(&p->map, p->pending_at, (uint64_t)n);
	}
	return 0;
}

static int take_xattr(struct pax *p, struct str name, struct str value)
{
	if (p->n_xattrs == TAPE_XATTRS_MAX || name.n == 0 || name.n > 255 || memchr(name.p, '\0', name.n))
		return -EBADMSG;
	p->xattrs[p->n_xattrs++] = (struct tape_xattr) { name, value };
	return 0;
}

static int take_record(struct pax *p, struct str key, struct str value)
{
	static const char sparse[] = "GNU.sparse.", xattr[] = "SCHILY.xattr.";

	if (str_starts(key, xattr)) {
		str_skip(&key, sizeof xattr - 1);
		return take_xattr(p, key, value);
	}
	if (str_starts(key, sparse)) {
		str_skip(&key, sizeof sparse - 1);
		return take_sparse(p, key, value);
	}
	if (str_is(key, "path"))
		return p->sparse && p->name.n > 0 ? 0
						  : take_text(&p->name, value); /* GNU.sparse.name has the real name */
	if (str_is(key, "linkpath"))
		return take_text(&p->target, value);
	if (str_is(key, "size"))
		return to_size(value, &p->size);
	if (str_is(key, "uid"))
		return to_size(value, &p->uid);
	if (str_is(key, "gid"))
		return to_size(value, &p->gid);
	return str_is(key, "mtime") ? read_time(p, value) : 0;
}

static bool decides(struct str key)
{
	return str_is(key, "path") || str_is(key, "linkpath") || str_is(key, "size") ||
	    str_starts(key, "GNU.sparse.") || str_starts(key, "SCHILY.xattr.");
}

int pax_read(struct pax *p, struct str records, bool global)
{
	struct str all = records, key, value;
	int rc;

	if (!global) { /* attributes point into our copy */
		buf_clear(&p->text);
		buf_str(&p->text, records);
		if (p->text.bad)
			return -EBADMSG;
		all = buf_view(&p->text);
		p->n_xattrs = 0;
	}
	while ((rc = tar_pax_next(&all, &key, &value)) > 0) {
		rc = !global ? take_record(p, key, value) : decides(key) ? -EBADMSG : 0;
		if (rc < 0)
			return rc;
	}
	return rc;
}

int pax_read_map(struct tape_map *m, struct str text)
{
	int64_t count, a, b;
	struct str line = str_cut(&text, '\n');

	tape_map_clear(m);
	if (!text.p)
		return line.n > 20 ? -EBADMSG : 0;
	if (str_to_i64(line, 0, PAX_SEGMENTS_MAX, &count) < 0)
		return -EBADMSG;
	for (int64_t i = 0; i < count; i++) {
		struct str at = str_cut(&text, '\n');
		if (!text.p)
			return 0;
		struct str n = str_cut(&text, '\n');
		if (!text.p)
			return 0;
		if (to_size(at, &a) < 0 || to_size(n, &b) < 0)
			return -EBADMSG;
		int rc = tape_map_add(m, (uint64_t)a, (uint64_t)b);
		if (rc < 0)
			return rc;
	}
	return 1;
}
