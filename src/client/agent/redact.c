/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/redact: removes tokens and keys from output: those with a known format, and known values. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/secretive.h"
#include "client/agent/redact.h"
#include "client/client.h"
#include "http/json.h"

#define TEXT_MAX (128u * 1024 * 1024)
/* Limit for text that a stream holds back: a longer match is not a secret. */
#define HELD_MAX (64 * 1024)
#define PEM_HEAD_MAX 64

enum set { SET_ALNUM, SET_WORD, SET_UPPER, SET_HEX };

static const struct {
	const char *prefix;
	enum set set;
	size_t min; /* characters after the prefix */
} shapes[] = {
	{ "ghp_", SET_ALNUM, 20 },
	{ "gho_", SET_ALNUM, 20 },
	{ "ghu_", SET_ALNUM, 20 },
	{ "ghs_", SET_ALNUM, 20 },
	{ "ghr_", SET_ALNUM, 20 },
	{ "github_pat_", SET_WORD, 20 },
	{ "glpat-", SET_WORD, 15 },
	{ "sk-", SET_WORD, 20 },
	{ "xoxb-", SET_WORD, 10 },
	{ "xoxp-", SET_WORD, 10 },
	{ "AKIA", SET_UPPER, 16 },
	{ "ASIA", SET_UPPER, 16 },
	{ "e2b_", SET_HEX, 32 },
	{ "AIza", SET_WORD, 30 },
	{ "hf_", SET_ALNUM, 30 },
	{ "npm_", SET_ALNUM, 30 },
};

static bool in_set(char c, enum set s)
{
	unsigned char u = (unsigned char)c;

	switch (s) {
	case SET_ALNUM:
		return isalnum(u);
	case SET_WORD:
		return isalnum(u) || c == '_' || c == '-';
	case SET_UPPER:
		return isupper(u) || isdigit(u);
	default:
		return isdigit(u) || (c >= 'a' && c <= 'f');
	}
}

/* Returns the length of the token at s, or 0. */
static size_t token_at(struct str s, char before)
{
	if (isalnum((unsigned char)before) || before == '_')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		size_t n = strlen(shapes[i].prefix), k = n;

		if (!str_starts(s, shapes[i].prefix))
			continue;
		while (k < s.n && in_set(s.p[k], shapes[i].set))
			k++;
		if (k - n >= shapes[i].min)
			return k;
	}
	return 0;
}

static size_t private_key_at(struct str s)
{
	static const char end[] = "PRIVATE KEY-----";
	const char *first = str_starts(s, "-----BEGIN ") ? memmem(s.p, s.n < 64 ? s.n : 64, end, sizeof end - 1) : NULL;
	size_t skip = first ? (size_t)(first - s.p) + sizeof end - 1 : 0;
	const char *last = first ? memmem(s.p + skip, s.n - skip, end, sizeof end - 1) : NULL;

	return !first ? 0 : last ? (size_t)(last - s.p) + sizeof end - 1 : s.n;
}

/* Returns the length of the password in a URL, after "://user:". */
static size_t password_at(struct str text, size_t at)
{
	size_t from = at, n = 0;

	if (at < 5 || text.p[at - 1] != ':')
		return 0;
	for (from = at - 1; from > 0 && at - from < 256 && !strchr("/@ \t\n", text.p[from - 1]); from--)
		;
	if (from < 3 || memcmp(text.p + from - 3, "://", 3) != 0 || at - 1 == from)
		return 0;
	while (at + n < text.n && !strchr("@/ \t\n\"'", text.p[at + n]))
		n++;
	return n > 0 && at + n < text.n && text.p[at + n] == '@' ? n : 0;
}

static size_t known_at(struct str s, const char *const *secrets, size_t n_secrets)
{
	size_t most = 0;

	for (size_t i = 0; i < n_secrets; i++) {
		size_t n = strlen(secrets[i]);

		if (n >= SECRET_MIN && n > most && str_starts(s, secrets[i]))
			most = n;
	}
	return most;
}

/* Notes the first bytes of all secrets, so that most bytes of a text are skipped quickly. */
static void note_first(bool first[256], const char *const *secrets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		first[(unsigned char)secrets[i][0]] = true;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		first[(unsigned char)shapes[i].prefix[0]] = true;
	first['-'] = true; /* a private key */
}

static size_t secret_at(struct str in, size_t i, const char *const *secrets, size_t n)
{
	struct str rest = { in.p + i, in.n - i };
	size_t k = known_at(rest, secrets, n);

	k = k ? k : token_at(rest, i ? in.p[i - 1] : ' ');
	k = k ? k : private_key_at(rest);
	return k ? k : password_at(in, i);
}

static void put_redacted(struct str in, const char *const *secrets, size_t n, struct buf *out)
{
	bool first[256] = { false };
	size_t done = 0;

	note_first(first, secrets, n);
	for (size_t i = 0; i < in.n;) {
		/* a password may begin with any character */
		bool worth_a_look = first[(unsigned char)in.p[i]] || (i && in.p[i - 1] == ':');
		size_t k = worth_a_look ? secret_at(in, i, secrets, n) : 0;

		if (k == 0) {
			i++;
			continue;
		}
		buf_str(out, (struct str) { in.p + done, i - done });
		buf_z(out, REDACTED);
		i += k;
		done = i;
	}
	buf_str(out, (struct str) { in.p + done, in.n - done });
}

char *atoll_redact(const char *text, const char *const *secrets, size_t n)
{
	autobuf struct buf out = BUF_INIT(TEXT_MAX);

	put_redacted(str_of(text), secrets, n, &out);
	return out.bad ? NULL : str_dup(out.n ? buf_view(&out) : STR_LIT(""));
}

/* --- JSON --- */

json_t *redact_string(json_t *s, const char *const *secrets)
{
	size_t n = 0;

	while (secrets && secrets[n])
		n++;
	autofree char *clean = atoll_redact(json_string_value(s), secrets, n);
	json_t *other = clean ? json_string(clean) : json_string("[redacted: out of memory]");

	json_decref(s);
	return other;
}

/* True for image or PDF data in the format of results, or data in that of MCP. */
static bool is_picture(const json_t *in, const char *name)
{
	return strcmp(name, "png") == 0 || strcmp(name, "jpeg") == 0 || strcmp(name, "pdf") == 0 ||
	    (strcmp(name, "data") == 0 && json_object_get(in, "mimeType"));
}

void redact_json(json_t *j, const char *const *secrets)
{
	const char *name;
	json_t *v;
	void *tmp;
	size_t i;

	json_object_foreach_safe(j, tmp, name, v)
	{
		if (!json_is_string(v))
			redact_json(v, secrets);
		else if (!is_picture(j, name))
			(void)json_object_set_new(j, name, redact_string(json_incref(v), secrets));
	}
	json_array_foreach(j, i, v)
	{
		if (json_is_string(v))
			(void)json_array_set_new(j, i, redact_string(json_incref(v), secrets));
		else
			redact_json(v, secrets);
	}
}

/* --- streams --- */

/* Returns the position of the first known secret that extends beyond the cut or the end of s, else the cut. A known
 * secret may contain spaces. */
static size_t before_known(struct str s, size_t cut, const char *const *secrets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(secrets[i]);

		for (size_t at = cut < len ? 0 : cut - len + 1; at < cut; at++) {
			if (memcmp(s.p + at, secrets[i], len < s.n - at ? len : s.n - at) == 0)
				cut = at;
		}
	}
	return cut;
}

/* Does the same for a private key, including an unterminated one and text that may become one. */
static size_t before_key(struct str s, size_t cut)
{
	static const char begin[] = "-----BEGIN ";
	const char *at = s.p;

	while (at && (at = memmem(at, s.n - (size_t)(at - s.p), begin, sizeof begin - 1))) {
		size_t from = (size_t)(at++ - s.p), rest = s.n - from,
		       k = private_key_at((struct str) { s.p + from, rest });

		if (from < cut && (k == rest || from + k > cut || (k == 0 && rest < PEM_HEAD_MAX)))
			cut = from;
	}
	return cut;
}

/* Returns how many bytes can be sent: the rest may be the beginning of a secret. A token contains no spaces, so it
 * ends at one. */
static size_t whole(struct str s, const char *const *secrets, size_t n)
{
	size_t cut = s.n, was;

	while (cut > 0 && !strchr(" \t\r\n", s.p[cut - 1]))
		cut--;
	do {
		was = cut;
		cut = before_key(s, before_known(s, cut, secrets, n));
	} while (cut < was);
	return s.n - cut > HELD_MAX ? s.n : cut;
}

static int let_out(struct redact_stream *st, size_t n, const char *const *secrets, size_t n_secrets, redact_fn *fn,
    void *user)
{
	autobuf struct buf clean = BUF_INIT(TEXT_MAX);

	if (n == 0)
		return 0;
	put_redacted((struct str) { st->held.p, n }, secrets, n_secrets, &clean);
	buf_consume(&st->held, n);
	return clean.bad ? -ENOMEM : fn(user, clean.p, clean.n);
}

int redact_stream_feed(struct redact_stream *st, struct str text, const struct secrets *s, redact_fn *fn, void *user)
{
	st->held.max = TEXT_MAX;
	buf_str(&st->held, text);
	if (st->held.bad)
		return -ENOMEM;
	return let_out(st, whole(buf_view(&st->held), (const char *const *)s->v, s->n), (const char *const *)s->v, s->n,
	    fn, user);
}

int redact_stream_end(struct redact_stream *st, const struct secrets *s, redact_fn *fn, void *user)
{
	return let_out(st, st->held.n, (const char *const *)s->v, s->n, fn, user);
}

void redact_stream_done(struct redact_stream *st)
{
	if (st->held.p)
		explicit_bzero(st->held.p, st->held.n);
	buf_done(&st->held);
}

int redact_pieces(json_t *list, const struct secrets *s)
{
	autobuf struct buf all = BUF_INIT(TEXT_MAX), one_by_one = BUF_INIT(TEXT_MAX), as_one = BUF_INIT(TEXT_MAX);
	json_t *v, *text;
	size_t i;

	json_array_foreach(list, i, v)
	{
		struct str piece = { json_string_value(v), json_string_length(v) };

		buf_str(&all, piece);
		put_redacted(piece, (const char *const *)s->v, s->n, &one_by_one);
	}
	put_redacted(buf_view(&all), (const char *const *)s->v, s->n, &as_one);
	if (all.bad || one_by_one.bad || as_one.bad)
		return -ENOMEM;
	if (str_eq(buf_view(&one_by_one), buf_view(&as_one)))
		return 0;
	text = json_stringn(as_one.p, as_one.n);
	return text && json_array_clear(list) == 0 && json_array_append_new(list, text) == 0 ? 0 : -ENOMEM;
}

/* --- known secrets --- */

size_t redact_env(char *env, size_t n, const char **ret, size_t max)
{
	size_t found = 0;

	for (size_t at = 0; at < n && found < max;) {
		char *one = env + at;
		size_t len = strnlen(one, n - at);
		char *eq = memchr(one, '=', len);

		at += len + 1;
		if (!eq || at > n || (size_t)(one + len - eq - 1) < SECRET_MIN)
			continue;
		*eq = '\0';
		if (secretive_name(one))
			ret[found++] = eq + 1;
	}
	return found;
}

void redact_secrets_add(struct secrets *s, const char *value)
{
	char *z;

	size_t n = strlen(value);

	if (n < SECRET_MIN || n > SECRET_MAX)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->v[i], value) == 0)
			return;
	}
	if (!(z = strdup(value)))
		return;
	if (s->n == SECRETS_MAX) { /* a recent value is more likely to be printed */
		explicit_bzero(s->v[0], strlen(s->v[0]));
		free(s->v[0]);
		memmove(s->v, s->v + 1, --s->n * sizeof *s->v);
	}
	s->v[s->n++] = z;
	s->v[s->n] = NULL;
}

void secrets_add_envs(struct secrets *s, const struct atoll_pair *envs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (envs[i].name && envs[i].value && secretive_name(envs[i].name))
			redact_secrets_add(s, envs[i].value);
	}
}

void secrets_done(struct secrets *s)
{
	for (size_t i = 0; i < s->n; i++) {
		explicit_bzero(s->v[i], strlen(s->v[i]));
		free(s->v[i]);
	}
	*s = (struct secrets) { .n = 0 };
}

int secrets_of(struct atoll_sandbox *sb, struct secrets *ret)
{
	autocall struct call c = CALL_INIT("GET", sb->envd_url, "/envs");
	autojson json_t *envs = NULL;
	struct atoll_error e;
	const char *name;
	json_t *v;

	*ret = (struct secrets) { .n = 0 };
	c.timeout_ms = 5000;
	if (call_header_sandbox(&c, sb, ENVD_PORT) < 0 || call_run(sb->a, &c, &e) < 0 ||
	    call_json(&c, JSON_OBJECT, &envs, &e) < 0)
		return -EIO;
	json_object_foreach(envs, name, v)
	{
		const char *z = json_string_value(v);

		if (z && strlen(z) >= SECRET_MIN && secretive_name(name) && ret->n < SECRETS_MAX &&
		    (ret->v[ret->n] = strdup(z)))
			ret->n++;
	}
	return 0;
}
