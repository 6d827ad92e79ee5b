/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/webhooks: checks. */
#include "ipc/webhooks.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/inet.h"
#include "ipc/check.h"

static bool is_token(const char *z, size_t size)
{
	if (!check_text(z, size) || !z[0])
		return false;
	for (; *z; z++) {
		bool ok = (*z >= 'a' && *z <= 'z') || (*z >= 'A' && *z <= 'Z') || (*z >= '0' && *z <= '9') ||
		    *z == '-' || *z == '_';

		if (!ok)
			return false;
	}
	return true;
}

static bool host_ok(struct str h)
{
	for (size_t i = 0; i < h.n; i++) {
		char c = h.p[i];
		bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
		    c == '-' || c == '_';

		if (!ok)
			return false;
	}
	return h.n > 0 && h.p[0] != '.' && h.p[0] != '-';
}

/* HOST, HOST:PORT, [V6] or [V6]:PORT */
static int parse_authority(struct str a, struct webhook_url *ret)
{
	struct str host = a, port = STR_NULL;
	uint64_t n;

	if (a.n > 0 && a.p[0] == '[') {
		const char *end = memchr(a.p, ']', a.n);

		if (!end)
			return -EINVAL;
		host = (struct str) { a.p + 1, (size_t)(end - a.p) - 1 };
		port = (struct str) { end + 1, a.n - host.n - 2 };
		if (memchr(host.p, '/', host.n) || !inet_is_v6(host) || (port.n > 0 && port.p[0] != ':'))
			return -EINVAL;
		if (port.n > 0)
			str_skip(&port, 1);
		else
			port = STR_NULL;
	} else {
		port = a;
		host = str_cut(&port, ':');
		if (!host_ok(host))
			return -EINVAL;
	}
	if (port.p && (str_to_u64(port, 65535, &n) < 0 || n == 0))
		return -EINVAL;
	if (port.p)
		ret->port = (uint16_t)n;
	return str_copy(ret->host, sizeof ret->host, host) ? 0 : -EINVAL;
}

int webhook_url_parse(struct str url, struct webhook_url *ret, struct err *e)
{
	struct webhook_url u = { .tls = str_starts(url, "https://") };
	size_t skip = u.tls ? 8 : 7, n = 0;

	if (url.n > HK_URL_MAX)
		return err_set(e, EINVAL, "must have at most %d bytes", HK_URL_MAX);
	if (!u.tls && !str_starts(url, "http://"))
		return err_set(e, EINVAL, "must begin with https:// or http://");
	for (size_t i = 0; i < url.n; i++) {
		if (url.p[i] <= ' ' || url.p[i] > '~' || strchr("\"#<>\\^`{|}", url.p[i]))
			return err_set(e, EINVAL,
			    "must not have blanks, fragments, or characters that a URL writes as %%XX");
	}
	str_skip(&url, skip);
	while (n < url.n && url.p[n] != '/' && url.p[n] != '?')
		n++;
	u.port = u.tls ? 443 : 80;
	if (memchr(url.p, '@', n))
		return err_set(e, EINVAL, "must not have a user or a password in it");
	if (parse_authority((struct str) { url.p, n }, &u) < 0)
		return err_set(e, EINVAL, "must have a host name or an address, and a port from 1 to 65535 if any");
	*ret = u;
	return 0;
}

int hk_job_check(const void *p, size_t n, struct hk_job *ret, struct str *ret_url, struct str *ret_body)
{
	struct hk_job m;
	struct webhook_url u;
	struct err e = ERR_INIT;

	if (n < sizeof m)
		return -EBADMSG;
	memcpy(&m, p, sizeof m);
	if (m.head.version != HK_VERSION || m.head.type != HK_JOB || m.n_url > HK_URL_MAX || m.n_body > HK_BODY_MAX ||
	    n - sizeof m != (size_t)m.n_url + m.n_body || m.timeout_ms == 0 || m.timeout_ms > HK_TIMEOUT_MAX_MS ||
	    m.attempt == 0)
		return -EBADMSG;
	if (!is_token(m.webhook, sizeof m.webhook) || !is_token(m.delivery, sizeof m.delivery) ||
	    !is_token(m.try, sizeof m.try) || !is_token(m.signature, sizeof m.signature))
		return -EBADMSG;
	struct str url = { (const char *)p + sizeof m, m.n_url };

	if (webhook_url_parse(url, &u, &e) < 0)
		return -EBADMSG;
	*ret = m;
	*ret_url = url;
	*ret_body = (struct str) { url.p + url.n, m.n_body };
	return 0;
}

int hk_done_check(const void *p, size_t n, struct hk_done *ret)
{
	struct hk_done m;

	if (n != sizeof m)
		return -EBADMSG;
	memcpy(&m, p, sizeof m);
	if (m.head.version != HK_VERSION || m.head.type != HK_DONE || m.outcome >= HK_OUTCOMES || m.status > 999 ||
	    m.retry_after_s > HK_RETRY_AFTER_MAX_S || !check_text(m.text, sizeof m.text))
		return -EBADMSG;
	for (const char *z = m.text; *z; z++) {
		if (*z < ' ' || *z > '~')
			return -EBADMSG;
	}
	*ret = m;
	return 0;
}

const char *hk_outcome_name(uint32_t outcome)
{
	static const char *const names[HK_OUTCOMES] = {
		[HK_OK] = "ok",
		[HK_STATUS] = "status",
		[HK_REDIRECT] = "redirect",
		[HK_TIMEOUT] = "timeout",
		[HK_RESOLVE] = "resolve",
		[HK_CONNECT] = "connect",
		[HK_TLS] = "tls",
		[HK_REFUSED] = "refused",
		[HK_PROTOCOL] = "protocol",
		[HK_LOST] = "lost",
	};

	return outcome < HK_OUTCOMES ? names[outcome] : "unknown";
}
