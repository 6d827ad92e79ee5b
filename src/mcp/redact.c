/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/redact: known texts by comparison, others by their shape. */
#include "mcp/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"

#define SECRET_MIN 8			/* shorter ones would be found everywhere */
#define TEXT_MAX (64u * 1024 * 1024)

/* Tokens that say what they are by their first letters. */
static const struct shape {
	const char *prefix;
	const char *more;		/* characters besides letters and digits */
	size_t least;			/* bytes behind the prefix */
} shapes[] = {
	{ "ghp_", "", 30 }, { "gho_", "", 30 }, { "ghs_", "", 30 }, { "ghu_", "", 30 }, { "ghr_", "", 30 }, { "github_pat_", "_", 30 },
	{ "glpat-", "-_", 20 }, { "sk-ant-", "-_", 20 }, { "sk-proj-", "-_", 20 }, { "sk-", "-_", 32 }, { "xoxb-", "-", 20 }, { "xoxp-", "-", 20 },
	{ "AKIA", "", 16 }, { "ASIA", "", 16 }, { "AIza", "-_", 35 }, { "e2b_", "", 40 }, { "npm_", "", 36 }, { "pypi-", "-_", 50 },
	{ "hf_", "", 30 }, { "eyJ", "-_.", 40 },
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t shape_len(struct str s, size_t at)
{
	if (at > 0 && is_word(s.p[at - 1]))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		size_t k = strlen(shapes[i].prefix), n = k;

		if (s.n - at < k + shapes[i].least || memcmp(s.p + at, shapes[i].prefix, k) != 0)
			continue;
		while (at + n < s.n && (isalnum((unsigned char)s.p[at + n]) || (s.p[at + n] && strchr(shapes[i].more, s.p[at + n]))))
			n++;
		if (n - k >= shapes[i].least)
			return n;
	}
	return 0;
}

static size_t known_len(struct str s, size_t at, const char *const *secrets)
{
	for (; secrets && *secrets; secrets++) {
		size_t k = strlen(*secrets);

		if (k >= SECRET_MIN && s.n - at >= k && memcmp(s.p + at, *secrets, k) == 0)
			return k;
	}
	return 0;
}

/* Behind "://": how much of it is "user:password@". */
static size_t userinfo_len(struct str s, size_t at)
{
	bool colon = false;

	if (at < 3 || memcmp(s.p + at - 3, "://", 3) != 0)
		return 0;
	for (size_t i = at; i < s.n; i++) {
		char c = s.p[i];

		if (c == '@')
			return colon || i - at >= SECRET_MIN ? i - at : 0;
		if (c == '/' || c == '?' || c == '#' || c == '"' || c == '\'' || (unsigned char)c <= ' ')
			return 0;
		colon = colon || c == ':';
	}
	return 0;
}

static bool redact(struct str s, const char *const *secrets, bool shapes_too, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < s.n;) {
		size_t n = userinfo_len(s, i);

		if (n == 0 && shapes_too) {
			n = known_len(s, i, secrets);
			n = n ? n : shape_len(s, i);
		}
		if (n == 0) {
			buf_ch(out, s.p[i++]);
			continue;
		}
		buf_z(out, REDACTED);
		i += n;
		any = true;
	}
	return any && !out->bad;
}

json_t *redact_string(json_t *s, const char *const *secrets)
{
	autobuf struct buf out = BUF_INIT(TEXT_MAX);

	if (!redact((struct str) { json_string_value(s), json_string_length(s) }, secrets, true, &out))
		return s;
	json_decref(s);
	return json_stringn(out.p, out.n);
}

void redact_json(json_t *j, const char *const *secrets)
{
	const char *key;
	json_t *v;
	size_t i;

	json_object_foreach(j, key, v) {
		if (!json_is_string(v))
			redact_json(v, secrets);
		else if (strcmp(key, "data") != 0 || !json_object_get(j, "mimeType"))
			json_object_set_new(j, key, redact_string(json_incref(v), secrets));
	}
	json_array_foreach(j, i, v) {
		if (json_is_string(v))
			json_array_set_new(j, i, redact_string(json_incref(v), secrets));
		else
			redact_json(v, secrets);
	}
}

char *redact_urls(const char *text)
{
	autobuf struct buf out = BUF_INIT(TEXT_MAX);

	(void)redact(str_of(text), NULL, false, &out);
	return str_dup(buf_view(&out));
}

static bool is_secret_name(struct str name)
{
	static const char *const words[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL" };
	autofree char *z = str_dup(name);

	for (size_t i = 0; z && i < ARRAY_LEN(words); i++) {
		if (strcasestr(z, words[i]))
			return true;
	}
	return false;
}

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
		if (is_secret_name((struct str) { one, (size_t)(eq - one) }))
			ret[found++] = eq + 1;
	}
	return found;
}
