/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check_tls: the certificate that the server or `atoll tls init` created, and whether names under its domain
 * resolve on this machine. A certificate provided by the operator (tls_cert) is checked by the server, which reports
 * its expiry in /metrics. */
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/host/check.h"
#include "cli/host/tls.h"
#include "cli/host/x509.h"
#include "cli/settings.h"

#define CERT_MAX (64 * 1024)
#define SOON_DAYS 14

/* Returns the domain, or NULL if there is none or only root can read it. */
static char *domain_of(const struct check_host *h)
{
	autofree char *dir = str_fmt("%s/tls", h->state);
	char *domain = NULL;

	return dir && settings_read_line(dir, "domain", &domain) == 0 ? domain : NULL;
}

static int read_cert(const struct check_host *h, struct x509_info *ret, struct err *e)
{
	autofree char *path = str_fmt("%s/tls/cert.pem", h->state), *text = malloc(CERT_MAX);

	if (!path || !text)
		return err_set(e, ENOMEM, "out of memory");
	if (file_read(AT_FDCWD, path, text, CERT_MAX) < 0)
		return err_sys(e, "read '%s'", path);
	return x509_info(str_of(text), ret, e);
}

void check_certificate(const struct check_host *h, struct check_result *r)
{
	autofree char *domain = NULL;
	struct x509_info info;
	struct err e = ERR_INIT;

	if (!check_is_root(r))
		return;
	domain = domain_of(h);
	if (!domain) {
		check_found(r, CHECK_OK, "none yet: the server creates one for '%s' when it starts (local_tls)",
		    TLS_DOMAIN_DEFAULT);
		return;
	}
	if (read_cert(h, &info, &e) < 0) {
		check_found(r, CHECK_WARN, "for '%s': %s", domain, e.text);
		check_remedy(r, "atoll tls init");
		return;
	}
	long long days = (info.not_after - (int64_t)(clock_wall_ms() / 1000)) / (24 * 3600);

	check_found(r, days < SOON_DAYS ? CHECK_WARN : CHECK_OK,
	    days < 0 ? "for '%s': expired %lld days ago" : "for '%s': valid for %lld days", domain,
	    days < 0 ? -days : days);
	if (days < SOON_DAYS)
		check_remedy(r,
		    "atoll tls init, then reload the server: systemctl reload atoll, or send SIGHUP to atolld");
}

void check_names(const struct check_host *h, struct check_result *r)
{
	autofree char *domain = NULL, *name = NULL;
	struct addrinfo *found = NULL;

	if (!check_is_root(r))
		return;
	domain = domain_of(h);
	if (!domain) /* no server has run yet; use the domain it will have */
		domain = strdup(TLS_DOMAIN_DEFAULT);
	if (!domain) {
		check_found(r, CHECK_WARN, "out of memory");
		return;
	}
	name = str_fmt("8000-i0000000000000000000.%s", domain);
	int no = name ? getaddrinfo(name, NULL, &(struct addrinfo) { .ai_socktype = SOCK_STREAM }, &found) : EAI_MEMORY;

	if (no == 0) {
		check_found(r, CHECK_OK, "names under '%s' resolve on this machine", domain);
		freeaddrinfo(found);
		return;
	}
	check_found(r, CHECK_WARN, "names under '%s' do not resolve on this machine: %s", domain, gai_strerror(no));
	size_t n = strlen(domain), l = strlen(".localhost");

	if (n > l && strcmp(domain + n - l, ".localhost") == 0)
		check_remedy(r, "apt-get install libnss-myhostname, which resolves names under localhost");
	else
		check_remedy(r, "add a wildcard DNS record: *.%s to this machine's address", domain);
}
