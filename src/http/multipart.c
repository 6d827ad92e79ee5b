/* SPDX-License-Identifier: Apache-2.0 */
/* http/multipart: finds the delimiter "\r\n--boundary" in a stream of bytes.
 *
 * A carriage return only occurs at the start of the delimiter (boundaries contain none). So after a mismatch the
 * search restarts at the mismatching byte, and the bytes held back need no buffer: they are equal to the start of
 * the delimiter. */
#include "http/multipart.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fd.h"
#include "http/url.h"

#define BOUNDARY_MAX 200 /* RFC 2046 says 70 */
#define PART_HEAD_MAX (16 * 1024)
#define PADDING_MAX 64 /* blanks after a delimiter */

enum multipart_state {
	IN_PREAMBLE,
	IN_DATA,         /* looking for the delimiter */
	AFTER_DELIMITER, /* "--", or blanks and a line end */
	AFTER_DASH,
	AFTER_CR,
	IN_HEAD,
	IN_EPILOGUE,
};

struct multipart {
	const struct multipart_ops *ops;
	void *user;
	enum multipart_state state;
	size_t matched; /* bytes of the delimiter seen */
	size_t implied; /* of these, bytes that were not in the input: the line end before the first delimiter */
	size_t padding;
	struct buf head; /* of the part, while it is incomplete */
	int stopped;     /* the error that ended the parse */
	size_t n_delim;
	char delim[BOUNDARY_MAX + 4];
};

/* Parses "; name=value" from *in. Values may be quoted; a backslash escapes only a quote or itself, because old
 * browsers send paths with unescaped ones. False at the end or if it is malformed. */
static bool param_next(struct str *in, struct str *ret_name, struct buf *value)
{
	while (in->n && (in->p[0] == ';' || in->p[0] == ' ' || in->p[0] == '\t'))
		str_skip(in, 1);
	size_t n = 0;
	while (n < in->n && in->p[n] != '=' && in->p[n] != ';')
		n++;
	if (n == 0 || n == in->n || in->p[n] != '=')
		return false;
	*ret_name = str_trim((struct str) { in->p, n });
	str_skip(in, n + 1);
	buf_clear(value);
	if (!in->n || in->p[0] != '"') {
		struct str rest = *in;

		buf_str(value, str_trim(str_cut(&rest, ';')));
		*in = rest;
		return true;
	}
	for (size_t i = 1; i < in->n; i++) {
		char c = in->p[i];

		if (c == '"') {
			str_skip(in, i + 1);
			return true;
		}
		if (c == '\\' && i + 1 < in->n && (in->p[i + 1] == '"' || in->p[i + 1] == '\\'))
			c = in->p[++i];
		buf_ch(value, c);
	}
	return false;
}

static bool boundary_ok(struct str b)
{
	if (b.n == 0 || b.n > BOUNDARY_MAX || b.p[b.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] < ' ' || b.p[i] > '~')
			return false;
	return true;
}

int multipart_new(struct str content_type, const struct multipart_ops *ops, void *user, struct multipart **ret)
{
	autobuf struct buf value = BUF_INIT(BOUNDARY_MAX + 2);
	struct str rest = content_type, name;
	bool found = false;

	if (!str_ieq(str_trim(str_cut(&rest, ';')), STR_LIT("multipart/form-data")))
		return -EINVAL;
	while (!found && rest.n && param_next(&rest, &name, &value))
		found = str_ieq(name, STR_LIT("boundary"));
	if (!found || value.bad || !boundary_ok(buf_view(&value)))
		return -EINVAL;
	struct multipart *m = calloc(1, sizeof *m);
	if (!m)
		return -ENOMEM;
	m->ops = ops;
	m->user = user;
	m->head = BUF_INIT(PART_HEAD_MAX);
	memcpy(m->delim, "\r\n--", 4);
	memcpy(m->delim + 4, value.p, value.n);
	m->n_delim = 4 + value.n;
	m->matched = m->implied = 2; /* the first delimiter needs no line end before it */
	*ret = m;
	return 0;
}

void multipart_free(struct multipart *m)
{
	if (!m)
		return;
	buf_done(&m->head);
	free(m);
}

/* Reads name and filename of a Content-Disposition line; filename* (RFC 5987) takes precedence. */
static int read_disposition(struct str line, struct buf *name, struct buf *filename, bool *ret_has_file)
{
	autobuf struct buf value = BUF_INIT(PART_HEAD_MAX);
	bool extended = false;
	struct str key;

	if (!str_ieq(str_trim(str_cut(&line, ';')), STR_LIT("form-data")))
		return -EBADMSG;
	while (line.n && param_next(&line, &key, &value)) {
		if (str_ieq(key, STR_LIT("name"))) {
			buf_clear(name);
			buf_str(name, buf_view(&value));
		} else if (str_ieq(key, STR_LIT("filename")) && !extended) {
			buf_clear(filename);
			buf_str(filename, buf_view(&value));
			*ret_has_file = true;
		} else if (str_ieq(key, STR_LIT("filename*"))) {
			struct str text = buf_view(&value);

			if (!str_ieq(str_cut(&text, '\''), STR_LIT("utf-8")))
				return -EBADMSG;
			(void)str_cut(&text, '\''); /* language */
			buf_clear(filename);
			if (url_decode(text, false, filename) < 0)
				return -EBADMSG;
			*ret_has_file = extended = true;
		}
	}
	return value.bad || name->bad || filename->bad ? -EBADMSG : 0;
}

static int begin_part(struct multipart *m)
{
	autobuf struct buf name = BUF_INIT(PART_HEAD_MAX), filename = BUF_INIT(PART_HEAD_MAX);
	struct str rest = { m->head.p, m->head.n - 2 };
	bool has_file = false, has_line = false;

	if (memchr(m->head.p, '\0', m->head.n))
		return -EBADMSG;
	while (rest.n) {
		struct str line = str_cut(&rest, '\n');

		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (!str_ieq(str_trim(str_cut(&line, ':')), STR_LIT("content-disposition")))
			continue;
		int rc = has_line ? -EBADMSG : read_disposition(line, &name, &filename, &has_file);
		if (rc < 0)
			return rc;
		has_line = true;
	}
	if (!has_line)
		return -EBADMSG;
	struct str file = has_file ? (struct str) { filename.n ? filename.p : "", filename.n } : STR_NULL;
	return m->ops->on_part(m->user, (struct str) { name.n ? name.p : "", name.n }, file);
}

static int give(struct multipart *m, const char *p, size_t n)
{
	if (n == 0 || m->state != IN_DATA)
		return 0;
	return m->ops->on_data(m->user, (struct str) { p, n });
}

/* The number of bytes that are certainly data; what follows is the delimiter or may become it. They are passed on
 * in one run, because a piece per line end of a binary file would be a write each. The delimiter has no second
 * '\r', so after a mismatch the search goes on at the next one. */
static size_t data_run(const struct multipart *m, struct str in)
{
	size_t at = 0;

	for (;;) {
		const char *cr = memchr(in.p + at, '\r', in.n - at);

		if (!cr)
			return in.n;
		at = (size_t)(cr - in.p);
		if (memcmp(cr, m->delim, in.n - at < m->n_delim ? in.n - at : m->n_delim) == 0)
			return at;
		at++;
	}
}

/* Passes on what is certainly not part of a delimiter. */
static int feed_data(struct multipart *m, struct str *in)
{
	while (in->n) {
		int rc;

		if (m->matched == 0) {
			size_t run = data_run(m, *in);

			rc = give(m, in->p, run);
			if (rc)
				return rc;
			str_skip(in, run);
		}
		size_t n = 0;
		while (n < in->n && m->matched + n < m->n_delim && in->p[n] == m->delim[m->matched + n])
			n++;
		m->matched += n;
		str_skip(in, n);
		if (m->matched == m->n_delim) {
			rc = m->state == IN_DATA ? m->ops->on_part_end(m->user) : 0;
			m->matched = m->implied = m->padding = 0;
			m->state = AFTER_DELIMITER;
			return rc;
		}
		if (in->n) { /* the end of an earlier piece was data after all */
			rc = give(m, m->delim + m->implied, m->matched - m->implied);
			m->matched = m->implied = 0;
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int feed_head(struct multipart *m, struct str *in)
{
	const char *lf = memchr(in->p, '\n', in->n);
	size_t n = lf ? (size_t)(lf - in->p) + 1 : in->n;

	buf_put(&m->head, in->p, n);
	str_skip(in, n);
	if (m->head.bad)
		return -EBADMSG;
	struct str h = buf_view(&m->head);
	if (!lf || !(h.n == 2 ? str_is(h, "\r\n") : str_ends(h, "\r\n\r\n")))
		return 0;
	int rc = begin_part(m);
	buf_clear(&m->head);
	m->state = IN_DATA;
	m->matched = m->implied = 2; /* in a part without a body, the delimiter's line end is that of the head */
	return rc;
}

static int feed_after(struct multipart *m, struct str *in)
{
	char c = in->p[0];

	str_skip(in, 1);
	if (m->state == AFTER_DASH) {
		m->state = IN_EPILOGUE;
		return c == '-' ? 0 : -EBADMSG;
	}
	if (m->state == AFTER_CR) {
		m->state = IN_HEAD;
		return c == '\n' ? 0 : -EBADMSG;
	}
	if (c == '-' && m->padding == 0)
		m->state = AFTER_DASH;
	else if (c == '\r')
		m->state = AFTER_CR;
	else if ((c != ' ' && c != '\t') || ++m->padding > PADDING_MAX)
		return -EBADMSG;
	return 0;
}

int multipart_feed(struct multipart *m, struct str data)
{
	while (data.n && !m->stopped) {
		switch (m->state) {
		case IN_PREAMBLE:
		case IN_DATA:
			m->stopped = feed_data(m, &data);
			break;
		case AFTER_DELIMITER:
		case AFTER_DASH:
		case AFTER_CR:
			m->stopped = feed_after(m, &data);
			break;
		case IN_HEAD:
			m->stopped = feed_head(m, &data);
			break;
		case IN_EPILOGUE:
			return 0;
		}
	}
	return m->stopped;
}

int multipart_end(struct multipart *m)
{
	if (m->stopped)
		return m->stopped;
	return m->state == IN_EPILOGUE ? 0 : -EBADMSG;
}
