/* SPDX-License-Identifier: Apache-2.0 */
/* doors: addresses from the configuration, sockets for the front. */
#include "warden/doors.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"
#include "warden/certs.h"
#include "warden/layout.h"
#include "warden/warden.h"

#define DOMAIN_DEFAULT "atoll.localhost" /* as in `atoll tls init` */
#define HTTPS_PORT "443"

static int open_all(struct warden *w, const char *list, enum door_kind kind, char *ret_url, size_t url_size,
    struct err *e)
{
	struct str rest = str_of(list), word;

	while ((word = config_next_word(&rest)).n) {
		char where[80], at[80];

		if (w->n_doors == DOORS_MAX)
			return err_set(e, E2BIG, "more than %d addresses to listen on", DOORS_MAX);
		struct door *d = &w->doors[w->n_doors];

		if (!str_copy(where, sizeof where, word))
			return err_set(e, EINVAL, "listen on '%.*s': too long", STR_ARG(word));
		if (layout_listen(where, &d->fd, at, sizeof at, e) < 0)
			return -e->no;
		d->kind = kind;
		w->n_doors++;
		if (!ret_url[0])
			(void)snprintf(ret_url, url_size, "%s://%s", kind == DOOR_HTTPS ? "https" : "http", at);
	}
	return 0;
}

/* Names below localhost resolve to both loopback addresses, and some clients try only the first, which is ::1. */
static void open_beside(struct warden *w, struct err *e)
{
	const char *port = strrchr(w->ready_url, ':');
	char where[80], url[96] = "";

	if (!port || strchr(w->cfg.listen, '[') ||
	    (!strstr(w->ready_url, "//127.0.0.1:") && !strstr(w->ready_url, "//0.0.0.0:")))
		return;
	(void)snprintf(where, sizeof where, "[::1]%s", port);
	if (open_all(w, where, DOOR_BOTH, url, sizeof url, e) == 0)
		return;
	if (e->no != EADDRNOTAVAIL && e->no != EAFNOSUPPORT) /* the machine has no IPv6 */
		log_warn("names below localhost also resolve to ::1, which is not served: some clients cannot connect",
		    "err=%s", e->text);
	*e = ERR_INIT;
}

/* Plain HTTP; TLS on the same ports, too, if tls_listen is not set and there is a certificate. */
static int open_listen(struct warden *w, struct err *e)
{
	const struct config *c = &w->cfg;
	autoclose int cert = -1;
	bool both = c->local_tls && !c->tls_listen[0] && certs_open(c, TLS_FILE_CERT, &cert, e) == 0;

	*e = ERR_INIT; /* `atoll serve` has already reported why there is none */
	if (open_all(w, c->listen, both ? DOOR_BOTH : DOOR_HTTP, w->ready_url, sizeof w->ready_url, e) < 0)
		return -e->no;
	if (!both)
		return 0;
	(void)snprintf(w->tls_url, sizeof w->tls_url, "https%s", w->ready_url + strlen("http"));
	open_beside(w, e);
	return 0;
}

/* The ports that clients use with E2B_DEBUG, on both addresses that "localhost" may resolve to. */
static int open_debug(struct warden *w, struct err *e)
{
	static const struct {
		enum door_kind kind;
		const char *port;
	} ports[] = {
		{ DOOR_HTTP, "3000" },
		{ DOOR_DEBUG_ENVD, "49983" },
		{ DOOR_DEBUG_INTERPRETER, "49999" },
	};
	static const char *const hosts[] = { "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < ARRAY_LEN(ports) * ARRAY_LEN(hosts); i++) {
		const char *host = hosts[i % ARRAY_LEN(hosts)];
		char where[80], url[96] = "";

		(void)snprintf(where, sizeof where, "%s:%s", host, ports[i / ARRAY_LEN(hosts)].port);
		if (open_all(w, where, ports[i / ARRAY_LEN(hosts)].kind, url, sizeof url, e) == 0)
			continue;
		if (host[0] != '[' || (e->no != EADDRNOTAVAIL && e->no != EAFNOSUPPORT))
			return err_wrap(e, "debug_ports");
		*e = ERR_INIT; /* the machine has no IPv6 */
	}
	return 0;
}

static bool is_domain(const char *z)
{
	size_t n = strspn(z, "abcdefghijklmnopqrstuvwxyz0123456789.-");
	const char *port = z[n] == ':' ? z + n + 1 : NULL;

	return n > 0 && z[0] != '.' && z[0] != '-' && (port ? port[0] && !port[strspn(port, "0123456789")] : !z[n]);
}

/* Chooses the configured domain or the one that the certificate was made for, with the port that clients must
 * append. The domain is never empty: without one, clients would use the domain of E2B's cloud. */
static int choose_domain(struct warden *w, struct err *e)
{
	char made[128] = "";
	const char *name = w->cfg.domain;

	if (!name[0]) {
		autofree char *path = str_fmt("%s/" CERTS_DIR "/domain", w->cfg.state);

		if (path && file_read(AT_FDCWD, path, made, sizeof made) > 0)
			made[strcspn(made, "\n")] = '\0';
		name = made[0] ? made : DOMAIN_DEFAULT;
	}
	if (name[0] && !is_domain(name))
		return err_set(e, EINVAL, "domain = '%s': want a name in lower case, with or without :PORT", name);
	/* A configured domain without tls_listen belongs to a reverse proxy in front of the server. */
	const char *url = w->cfg.domain[0] && !w->cfg.tls_listen[0] ? ":" HTTPS_PORT
	    : w->tls_url[0]                                         ? w->tls_url
								    : w->ready_url;
	const char *port = strrchr(url, ':') + 1;
	bool plain = strchr(name, ':') || strcmp(port, HTTPS_PORT) == 0;

	(void)snprintf(w->domain, sizeof w->domain, plain ? "%s" : "%s:%s", name, port);
	return 0;
}

/* Opens a listener for sandboxes that speaks the same protocol as the one the domain leads to from outside. If
 * the domain leads to a reverse proxy, sandboxes reach it through that proxy or not at all. */
static int open_inside(struct warden *w, struct err *e)
{
	const struct config *c = &w->cfg;
	const char *port = strchr(w->domain, ':');

	if (!c->inside_names || (c->domain[0] && !c->tls_listen[0]) || w->n_doors == DOORS_MAX)
		return 0;
	struct door *d = &w->doors[w->n_doors];

	if (layout_names(w->instance, &d->fd, e) < 0)
		return -e->no;
	d->kind = c->tls_listen[0] ? DOOR_HTTPS : w->tls_url[0] ? DOOR_BOTH : DOOR_HTTP;
	w->n_doors++;
	w->names_port = (uint16_t)strtoul(port ? port + 1 : HTTPS_PORT, NULL, 10);
	return 0;
}

/* Checks the certificate now and reports why it cannot be opened, rather than let the front fail to start. */
static int check_certs(const struct config *c, struct err *e)
{
	autoclose int cert = -1, key = -1;

	if (certs_open(c, TLS_FILE_CERT, &cert, e) < 0 || certs_open(c, TLS_FILE_KEY, &key, e) < 0)
		return err_wrap(e, "TLS");
	return 0;
}

int doors_open(struct warden *w, struct err *e)
{
	const struct config *c = &w->cfg;

	if (c->tls_listen[0] && check_certs(c, e) < 0)
		return -e->no;
	if (open_listen(w, e) < 0 || open_all(w, c->tls_listen, DOOR_HTTPS, w->tls_url, sizeof w->tls_url, e) < 0 ||
	    choose_domain(w, e) < 0 || open_inside(w, e) < 0 || (c->debug_ports && open_debug(w, e) < 0))
		return -e->no;
	rand_bytes(w->ticket_secret, sizeof w->ticket_secret);
	if (layout_note(c, "url", w->ready_url, e) < 0 || layout_note(c, "tls-url", w->tls_url, e) < 0 ||
	    layout_note(c, "debug", c->debug_ports ? "true" : "", e) < 0)
		return -e->no;
	return layout_note(c, "domain", w->domain, e);
}
