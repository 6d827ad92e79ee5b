/* SPDX-License-Identifier: Apache-2.0 */
/* client/config: finds the server's address and key: from the caller, else from the environment, else of a local
 * server. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "client/mock/mock.h"
#include "client/mock_load.h"

#define STATE_DIR "/var/lib/atoll"
#define HOSTED_DOMAIN "e2b.app"

/* Returns a copy without trailing slashes, or NULL if it is not a supported URL or memory runs out. The caller frees
 * it. */
static char *base_url(const char *url)
{
	struct str s = str_of(url);

	if (!str_starts(s, "http://") && !str_starts(s, "https://"))
		return NULL;
	while (s.n > 0 && s.p[s.n - 1] == '/')
		s.n--;
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] <= 0x20 || s.p[i] == 0x7f)
			return NULL;
	}
	return str_dup(s);
}

/* Refuses keys that contain a line break, which could inject headers. */
static bool key_ok(const char *key)
{
	for (const char *p = key; *p; p++) {
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f)
			return false;
	}
	return *key != '\0';
}

static bool domain_ok(const char *z)
{
	return *z && *z != '.' &&
	    strspn(z, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") == strlen(z);
}

/* Returns the value given, else that of the variable if it is set and not empty. */
static const char *pick(const struct atoll_config *cfg, const char *given, const char *variable)
{
	const char *z = cfg->no_env ? NULL : getenv(variable);

	return given ? given : z && *z ? z : NULL;
}

/* Reads a one-line file in the state directory of a local server. The caller frees it. Returns NULL if it does not
 * exist or is not readable. */
static char *state_line(const struct atoll_config *cfg, const char *name)
{
	autofree char *path = str_fmt("%s/%s", cfg->state_dir ? cfg->state_dir : STATE_DIR, name);
	char text[1024];
	ssize_t n = path ? file_read(AT_FDCWD, path, text, sizeof(text)) : -ENOMEM;

	if (n <= 0)
		return NULL;
	struct str rest = { text, (size_t)n };
	struct str line = str_trim(str_cut(&rest, '\n'));
	char *ret = line.n > 0 && !memchr(line.p, '\0', line.n) ? str_dup(line) : NULL;

	explicit_bzero(text, sizeof(text));
	return ret;
}

struct found { /* borrowed, except local_* */
	const char *api_url, *sandbox_url, *api_key, *access_token, *domain;
	char *local_url, *local_key;
	char api[512];
};

static int set_url(char **to, const char *url, struct atoll_error *e)
{
	*to = base_url(url);
	return *to ? 0 : client_fail(e, EINVAL, 0, "'%s' is not an http or https URL", url);
}

/* Without a key, uses that of a local server, which only root can read. */
static int find_local(const struct atoll_config *cfg, struct found *f, struct atoll_error *e)
{
	f->local_key = state_line(cfg, "key");
	f->local_url = f->local_key && !f->api_url && !f->domain ? state_line(cfg, "url") : NULL;
	/* The key of a local server must not be sent to another server. */
	if (f->local_key && (f->local_url || (f->api_url && client_is_loopback(f->api_url)))) {
		f->api_key = f->local_key;
		f->api_url = f->local_url ? f->local_url : f->api_url;
		return 0;
	}
	if (f->api_url && client_is_loopback(f->api_url))
		return 0;
	return client_fail(e, EINVAL, 0,
	    "no API key: set E2B_API_KEY (no local server was found: '%s/key' cannot be read)",
	    cfg->state_dir ? cfg->state_dir : STATE_DIR);
}

static int find(const struct atoll_config *cfg, struct found *f, struct atoll_error *e)
{
	f->api_key = pick(cfg, cfg->api_key, "E2B_API_KEY");
	f->access_token = pick(cfg, cfg->access_token, "E2B_ACCESS_TOKEN");
	f->domain = pick(cfg, cfg->domain, "E2B_DOMAIN");
	f->api_url = pick(cfg, cfg->api_url, "E2B_API_URL");
	/* If the API URL was given, ignore a variable that may belong to another server. */
	f->sandbox_url = cfg->api_url ? cfg->sandbox_url : pick(cfg, cfg->sandbox_url, "E2B_SANDBOX_URL");
	if (cfg->api_url && !cfg->domain)
		f->domain = NULL;
	if (!f->api_key && !f->access_token && find_local(cfg, f, e) < 0)
		return -e->no;
	if (!f->api_url && !f->domain)
		f->domain = HOSTED_DOMAIN;
	if (f->domain && !domain_ok(f->domain))
		return client_fail(e, EINVAL, 0, "'%s' is not a domain (E2B_DOMAIN)", f->domain);
	if (!f->api_url) {
		int n = snprintf(f->api, sizeof(f->api), "https://api.%s", f->domain);

		if (n < 0 || (size_t)n >= sizeof(f->api))
			return client_fail(e, EINVAL, 0, "the domain is too long (E2B_DOMAIN)");
		f->api_url = f->api;
	}
	if (!f->sandbox_url && !f->domain)
		f->sandbox_url = f->api_url;
	if ((f->api_key && !key_ok(f->api_key)) || (f->access_token && !key_ok(f->access_token)))
		return client_fail(e, EINVAL, 0, "the API key is empty or contains invalid characters (E2B_API_KEY)");
	return 0;
}

static int copy_to(char **to, const char *from, struct atoll_error *e)
{
	*to = from ? str_dup(str_of(from)) : NULL;
	return from && !*to ? client_no_memory(e) : 0;
}

static int open_log(struct atoll *a, const struct atoll_config *cfg, struct atoll_error *e)
{
	const char *to = pick(cfg, NULL, "ATOLL_LOG");

	a->log = cfg->log;
	a->log_user = cfg->log_user;
	if (!to)
		return 0;
	a->log_fd = strcmp(to, "stderr") == 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
					      : open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return a->log_fd < 0 ? client_fail(e, errno, 0, "open '%s' (ATOLL_LOG): %s", to, strerrordesc_np(errno)) : 0;
}

static int fill(struct atoll *a, const struct atoll_config *cfg, const struct found *f, struct atoll_error *e)
{
	const char *template_id = pick(cfg, cfg->template_id, "E2B_TEMPLATE_ID");

	if (set_url(&a->api_url, f->api_url, e) < 0 ||
	    (f->sandbox_url && set_url(&a->sandbox_url, f->sandbox_url, e) < 0))
		return -e->no;
	if (copy_to(&a->domain, f->domain, e) < 0 || copy_to(&a->api_key, f->api_key, e) < 0 ||
	    copy_to(&a->access_token, f->access_token, e) < 0 ||
	    copy_to(&a->template_id, template_id ? template_id : ATOLL_TEMPLATE_DEFAULT, e) < 0 ||
	    copy_to(&a->ca_file, pick(cfg, cfg->ca_file, "SSL_CERT_FILE"), e) < 0)
		return -e->no;
	return open_log(a, cfg, e);
}

static bool wants_mock(const struct atoll_config *cfg)
{
	const char *z = pick(cfg, NULL, "ATOLL_MOCK");

	return cfg->mock || (z && strcmp(z, "1") == 0);
}

/* The variable ATOLL_MOCK may be set by mistake, so a warning is printed. */
static int use_mock(struct atoll *a, const struct atoll_config *cfg, struct found *f, struct atoll_error *e)
{
	if (!cfg->mock)
		(void)fprintf(stderr, "libatoll: ATOLL_MOCK is set: no server is used, and nothing is executed\n");
	if (mock_load(&a->mock_ops, e) < 0)
		return -e->no;
	a->mock = a->mock_ops->new();
	*f = (struct found) { .api_url = MOCK_URL, .sandbox_url = MOCK_URL, .api_key = "mock" };
	return a->mock ? 0 : client_no_memory(e);
}

int atoll_new(const struct atoll_config *given, struct atoll **ret, struct atoll_error *e)
{
	NEED(e, ret);
	struct atoll_config cfg = { 0 };
	struct found f = { .api_url = NULL };

	if (given && TAKE_IN(&cfg, given, e) < 0)
		return -e->no;
	struct atoll *a = calloc(1, sizeof(*a));
	if (!a || global_begin() < 0) {
		free(a);
		return client_no_memory(e);
	}
	a->log_fd = -1;
	(void)pthread_mutex_init(&a->lock, NULL);
	int rc = wants_mock(&cfg) ? use_mock(a, &cfg, &f, e) : find(&cfg, &f, e);
	if (rc == 0)
		rc = fill(a, &cfg, &f, e);
	a->has_found_key = f.local_key && f.api_key == f.local_key;
	if (f.local_key)
		explicit_bzero(f.local_key, strlen(f.local_key));
	free(f.local_key);
	free(f.local_url);
	if (rc < 0) {
		atoll_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void atoll_free(struct atoll *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n_idle; i++)
		curl_easy_cleanup(a->idle[i]);
	if (a->mock)
		a->mock_ops->free(a->mock);
	atoll_breaker_free(a->breaker);
	(void)pthread_mutex_destroy(&a->lock);
	forget(a->api_key);
	forget(a->access_token);
	free(a->api_url);
	free(a->sandbox_url);
	free(a->domain);
	free(a->template_id);
	free(a->ca_file);
	free(a->team);
	free(a->holder);
	free(a->scope);
	fd_close(a->log_fd);
	free(a);
	global_end();
}

void atoll_close(struct atoll **a)
{
	if (a)
		atoll_free(take_ptr(a));
}

bool atoll_is_mock(const struct atoll *a)
{
	return a && a->mock;
}
