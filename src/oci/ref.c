/* SPDX-License-Identifier: Apache-2.0 */
/* oci/ref: the grammar of image references, as defined by docker and the distribution project. */
#include "oci/ref.h"

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Labels of letters, digits and inner hyphens. */
static bool dns_name_ok(struct str s)
{
	if (s.n == 0 || s.n > 253)
		return false;
	while (s.p) {
		struct str label = str_cut(&s, '.');

		if (label.n == 0 || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-')
			return false;
		for (size_t i = 0; i < label.n; i++) {
			if (!is_word(label.p[i]) && label.p[i] != '-')
				return false;
		}
	}
	return true;
}

static bool v6_ok(struct str s)
{
	if (s.n < 2 || s.n > 39)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'f') &&
		    s.p[i] != ':')
			return false;
	}
	return true;
}

int ref_host(struct str text, char out[REF_HOST_SIZE])
{
	struct str port = text, name;
	uint64_t n;

	if (str_starts(text, "[")) {
		const char *end = memchr(text.p, ']', text.n);

		if (!end || !v6_ok((struct str) { text.p + 1, (size_t)(end - text.p) - 1 }))
			return -EINVAL;
		name = (struct str) { text.p, (size_t)(end - text.p) + 1 };
		str_skip(&port, name.n);
		if (port.n > 0 && port.p[0] != ':')
			return -EINVAL;
		port = port.n > 0 ? (struct str) { port.p + 1, port.n - 1 } : STR_NULL;
	} else {
		name = str_cut(&port, ':');
		if (!dns_name_ok(name))
			return -EINVAL;
	}
	if (port.p && (port.n > 5 || str_to_u64(port, 65535, &n) < 0 || n == 0))
		return -EINVAL;
	if (!str_copy(out, REF_HOST_SIZE, text))
		return -EINVAL;
	for (char *c = out; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	return 0;
}

/* Letters and digits with separators between them: one '.', one or two '_', any number of '-'. */
static bool component_ok(struct str s)
{
	for (size_t i = 0, from; i < s.n; i++) {
		if (is_lower(s.p[i]))
			continue;
		for (from = i; i < s.n && s.p[i] == s.p[from]; i++)
			;
		size_t run = i - from;
		char c = s.p[from];

		if (from == 0 || i == s.n || !is_lower(s.p[i]))
			return false;
		if (!((c == '.' && run == 1) || (c == '_' && run <= 2) || c == '-'))
			return false;
	}
	return s.n > 0;
}

static bool tag_ok(struct str s)
{
	if (s.n == 0 || s.n >= REF_TAG_SIZE || !is_word(s.p[0]))
		return false;
	for (size_t i = 1; i < s.n; i++) {
		if (!is_word(s.p[i]) && s.p[i] != '.' && s.p[i] != '-')
			return false;
	}
	return true;
}

/* The part before the first slash is a host if it looks like one; a plain word is a name on docker.io. */
static bool looks_like_host(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' || s.p[i] == ':' || s.p[i] == '[' || (s.p[i] >= 'A' && s.p[i] <= 'Z'))
			return true;
	}
	return str_is(s, "localhost");
}

static int take_host(struct str *rest, struct ref *r, struct err *e)
{
	struct str after = *rest, first = str_cut(&after, '/');

	(void)str_copy(r->host, sizeof r->host, STR_LIT("docker.io"));
	if (!after.p || !looks_like_host(first))
		return 0;
	if (ref_host(first, r->host) < 0)
		return err_set(e, EINVAL, "'%.*s' is not the name of a registry", STR_ARG(first));
	if (strcmp(r->host, "index.docker.io") == 0 || strcmp(r->host, "registry-1.docker.io") == 0)
		(void)str_copy(r->host, sizeof r->host, STR_LIT("docker.io"));
	*rest = after;
	return 0;
}

static int take_repo(struct str repo, struct ref *r, struct err *e)
{
	bool official = strcmp(r->host, "docker.io") == 0 && repo.n > 0 && !memchr(repo.p, '/', repo.n);
	autobuf struct buf whole = BUF_INIT(REF_REPO_SIZE);

	if (official)
		buf_z(&whole, "library/");
	buf_str(&whole, repo);
	if (repo.n == 0)
		return err_set(e, EINVAL, "the name of an image is missing");
	if (whole.bad || !str_copy(r->repo, sizeof r->repo, buf_view(&whole)))
		return err_set(e, EINVAL, "the name of an image has at most %d characters", REF_REPO_SIZE - 1);
	for (struct str left = repo; left.p;) {
		struct str part = str_cut(&left, '/');

		if (!component_ok(part))
			return err_set(e, EINVAL,
			    "'%.*s' is not the name of an image: lower-case letters and digits, with . _ - between "
			    "them",
			    STR_ARG(repo));
	}
	return 0;
}

int ref_parse(struct str text, struct ref *ret, struct err *e)
{
	struct ref r = { 0 };
	struct str digest = text, rest = str_cut(&digest, '@');

	if (text.n == 0 || text.n > 1024)
		return err_set(e, EINVAL,
		    text.n ? "the name of an image is too long" : "the name of an image is empty");
	if (digest.p) {
		if (digest_parse(digest, &r.digest, e) < 0)
			return -e->no;
		r.pinned = true;
	}
	if (take_host(&rest, &r, e) < 0)
		return -e->no;
	struct str tag = rest, repo = str_cut(&tag, ':');

	if (tag.p && !tag_ok(tag))
		return err_set(e, EINVAL, "'%.*s' is not a tag", STR_ARG(tag));
	if (!tag.p && !r.pinned)
		tag = STR_LIT("latest");
	(void)str_copy(r.tag, sizeof r.tag, tag.p ? tag : STR_LIT(""));
	if (take_repo(repo, &r, e) < 0)
		return -e->no;
	*ret = r;
	return 0;
}

void ref_put(struct buf *out, const struct ref *r)
{
	char text[DIGEST_TEXT_SIZE];

	buf_fmt(out, "%s/%s", r->host, r->repo);
	if (r->tag[0])
		buf_fmt(out, ":%s", r->tag);
	if (!r->pinned)
		return;
	digest_text(&r->digest, text);
	buf_fmt(out, "@%s", text);
}
