/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/secrets: names, values, placeholders. */
#include "front/account/secrets.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "front/link/links.h"
#include "front/util/vault.h"
#include "store/secrets.h"

#define SECRET_MARK "${e2b.secrets."
#define TOKEN_MARK "${e2b.identity.tokens."
#define ID_MARK "sec_"
#define LABEL_MAX 256

int secret_name(struct str text, char ret[SECRET_NAME_MAX + 1])
{
	text = str_trim(text);
	if (text.n == 0 || text.n > SECRET_NAME_MAX)
		return -EINVAL;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
			return -EINVAL;
		ret[i] = c;
	}
	ret[text.n] = '\0';
	return strncmp(ret, ID_MARK, strlen(ID_MARK)) == 0 ? -EINVAL : 0;
}

bool secret_value_ok(struct str value)
{
	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return value.n > 0 && value.n <= SECRET_VALUE_MAX && str_trim(value).n == value.n;
}

/* Binds an encrypted value to its row. */
static struct str label_of(const char *team, const char *id, char out[LABEL_MAX])
{
	int n = snprintf(out, LABEL_MAX, "secret %s %s", team, id);

	return (struct str) { out, n > 0 && n < LABEL_MAX ? (size_t)n : 0 };
}

void secret_seal(const struct links *l, const char *team, const char *id, struct str value, struct buf *out)
{
	char label[LABEL_MAX];

	vault_seal(l->vault, label_of(team, id, label), value, out);
}

struct filling {
	const struct links *links;
	struct buf *out;
};

static int on_found(void *user, const struct secret_row *r)
{
	const struct filling *fl = user;
	autobuf struct buf value = BUF_INIT(SECRET_VALUE_MAX + 1);
	char label[LABEL_MAX];
	int no = vault_unseal(fl->links->vault, label_of(r->team, r->id, label),
	    (struct str) { r->sealed, r->n_sealed }, &value);

	if (no < 0) {
		log_error("a secret cannot be decrypted: was the key file changed?", "secret=%s", r->id);
		return -EBADMSG;
	}
	buf_str(fl->out, buf_view(&value));
	explicit_bzero(value.p, value.n);
	return 0;
}

static int fill_one(const struct links *l, const char *team, struct str name, struct buf *out, struct err *e)
{
	struct filling fl = { l, out };
	char clean[SECRET_NAME_MAX + 1];
	struct err own = ERR_INIT;

	if (secret_name(name, clean) < 0)
		return err_set(e, EINVAL, "has a malformed placeholder");
	if (!l)
		return 0;
	int r = secrets_find(l->store, team, clean, on_found, &fl, &own);

	if (r == -ENOENT)
		return err_set(e, ENOENT, "there is no secret '%s'", clean);
	return r < 0 ? err_set(e, -r, "secret '%s' cannot be read", clean) : 0;
}

int secrets_fill(const struct links *l, const char *team, struct str text, struct buf *out, bool *ret_secret,
    struct err *e)
{
	*ret_secret = false;
	while (text.n > 0) {
		const char *mark = memmem(text.p, text.n, "${e2b.", 6);
		size_t before = mark ? (size_t)(mark - text.p) : text.n;

		buf_put(out, text.p, before);
		str_skip(&text, before);
		if (!mark)
			break;
		if (str_starts(text, TOKEN_MARK))
			return err_set(e, ENOTSUP, "asks for an identity token, which this server does not have");
		if (!str_starts(text, SECRET_MARK)) {
			buf_put(out, text.p, 2); /* a placeholder of another kind: copied unchanged */
			str_skip(&text, 2);
			continue;
		}
		str_skip(&text, strlen(SECRET_MARK));
		if (!memchr(text.p, '}', text.n))
			return err_set(e, EINVAL, "has a malformed placeholder");
		if (fill_one(l, team, str_cut(&text, '}'), out, e) < 0)
			return -e->no;
		*ret_secret = true;
	}
	return 0;
}
