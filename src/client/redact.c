/* SPDX-License-Identifier: Apache-2.0 */
/* client/redact: tokens and keys are taken out of what is shown: those of known shape, and those that are known. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "client/redact.h"
#include "http/json.h"

#define MARK "[redacted]"
#define SECRET_MIN 6			/* shorter ones are found everywhere */
#define TEXT_MAX (128u * 1024 * 1024)

enum set { SET_ALNUM, SET_WORD, SET_UPPER, SET_HEX };

static const struct {
	const char *prefix;
	enum set set;
	size_t min;			/* characters behind the prefix */
} shapes[] = {
	{ "ghp_", SET_ALNUM, 20 }, { "gho_", SET_ALNUM, 20 }, { "ghu_", SET_ALNUM, 20 }, { "ghs_", SET_ALNUM, 20 }, { "ghr_", SET_ALNUM, 20 }, { "github_pat_", SET_WORD, 20 },
	{ "glpat-", SET_WORD, 15 }, { "sk-", SET_WORD, 20 }, { "xoxb-", SET_WORD, 10 }, { "xoxp-", SET_WORD, 10 }, { "AKIA", SET_UPPER, 16 }, { "ASIA", SET_UPPER, 16 },
	{ "e2b_", SET_HEX, 32 }, { "AIza", SET_WORD, 30 }, { "hf_", SET_ALNUM, 30 }, { "npm_", SET_ALNUM, 30 },
};

static bool in_set(char c, enum set s)
{
	unsigned char u = (unsigned char)c;

	switch (s) {
	case SET_ALNUM: return isalnum(u);
	case SET_WORD: return isalnum(u) || c == '_' || c == '-';
	case SET_UPPER: return isupper(u) || isdigit(u);
	default: return isdigit(u) || (c >= 'a' && c <= 'f');
	}
}

/* How many bytes at s are a token; 0: none. */
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

/* The password of a URL: "://user:" has been passed. */
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

char *atoll_redact(const char *text, const char *const *secrets, size_t n)
{
	struct str in = str_of(text);
	autobuf struct buf out = BUF_INIT(TEXT_MAX);

	for (size_t i = 0; i < in.n;) {
		struct str rest = { in.p + i, in.n - i };
		size_t k = known_at(rest, secrets, n);

		k = k ? k : token_at(rest, i ? in.p[i - 1] : ' ');
		k = k ? k : private_key_at(rest);
		k = k ? k : password_at(in, i);
		if (k) {
			buf_z(&out, MARK);
			i += k;
		} else {
			buf_ch(&out, in.p[i++]);
		}
	}
	return out.bad ? NULL : str_dup(out.n ? buf_view(&out) : STR_LIT(""));
}

/* --- in JSON --- */

static json_t *redacted(json_t *j, const struct secrets *s)
{
	if (json_is_string(j)) {
		autofree char *clean = atoll_redact(json_string_value(j), (const char *const *)s->v, s->n);

		return clean && strcmp(clean, json_string_value(j)) != 0 ? json_string(clean) : json_incref(j);
	}
	return json_incref(j);
}

void secrets_redact(json_t *j, const struct secrets *s)
{
	const char *name;
	json_t *v;
	void *tmp;
	size_t i;

	if (json_is_object(j)) {
		json_object_foreach_safe(j, tmp, name, v) {
			bool binary = strcmp(name, "png") == 0 || strcmp(name, "jpeg") == 0 || strcmp(name, "pdf") == 0;

			secrets_redact(v, s);
			if (json_is_string(v) && !binary)
				(void)json_object_set_new(j, name, redacted(v, s));
		}
	}
	json_array_foreach(j, i, v) {
		secrets_redact(v, s);
		if (json_is_string(v))
			(void)json_array_set_new(j, i, redacted(v, s));
	}
}

/* --- what a sandbox knows --- */

static bool names_secret(const char *name)
{
	static const char *const parts[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL" };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strcasestr(name, parts[i]))
			return true;
	}
	return false;
}

void secrets_done(struct secrets *s)
{
	for (size_t i = 0; i < s->n; i++) {
		explicit_bzero(s->v[i], strlen(s->v[i]));
		free(s->v[i]);
	}
	*s = (struct secrets) { .n = 0 };
}

void secrets_of(struct atoll_sandbox *sb, struct secrets *ret)
{
	autocall struct call c = CALL_INIT("GET", sb->envd_url, "/envs");
	autojson json_t *envs = NULL;
	struct atoll_error e;
	const char *name;
	json_t *v;

	*ret = (struct secrets) { .n = 0 };
	c.timeout_ms = 5000;
	if (call_header_sandbox(&c, sb, ENVD_PORT) < 0 || call_run(sb->a, &c, &e) < 0 || call_json(&c, JSON_OBJECT, &envs, &e) < 0)
		return;
	json_object_foreach(envs, name, v) {
		const char *z = json_string_value(v);

		if (z && strlen(z) >= SECRET_MIN && names_secret(name) && ret->n < SECRETS_MAX && (ret->v[ret->n] = strdup(z)))
			ret->n++;
	}
}
