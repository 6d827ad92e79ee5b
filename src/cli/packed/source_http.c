/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/source_http: libcurl without privileges. */
#include "cli/packed/source_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/landlock.h"
#include "cli/packed/source.h"

#define CONNECT_TIMEOUT_S 15L
#define STALL_S 30L
#define STALL_BYTES_S 64L
#define REDIRECTS_MAX 5L
#define TRIES 3
#define NOBODY 65534

/* Everything that libcurl, the resolver and OpenSSL read. */
static const struct landlock_path readable[] = {
	{ "/etc", LANDLOCK_READ_FILES },
	{ "/usr", LANDLOCK_READ_FILES },
	{ "/lib", LANDLOCK_READ_FILES },
	{ "/run/systemd/resolve", LANDLOCK_READ_FILES },
};

static int confine(struct err *e)
{
	const struct passwd *pw = getpwnam("nobody");
	uid_t uid = pw ? pw->pw_uid : NOBODY;
	gid_t gid = pw ? pw->pw_gid : NOBODY;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit) { 0, 0 });
	(void)setrlimit(RLIMIT_FSIZE, &(struct rlimit) { 0, 0 });
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "give up power");
	/* Before the change of user, which may have no right to reach these directories by name. */
	int r = landlock_confine(readable, ARRAY_LEN(readable), LANDLOCK_MAY_CONNECT);

	if (r < 0 && r != -ENOSYS)
		return err_set(e, -r, "confine the process: %s", strerror(-r));
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
		return err_sys(e, "become 'nobody'");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the change of user has cleared it */
	return 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
	struct buf *b = user;

	buf_put(b, p, size * n);
	return b->bad ? 0 : size * n;
}

static CURL *prepare(void)
{
	CURL *c = curl_easy_init();

	if (!c)
		return NULL;
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	(void)curl_easy_setopt(c, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(c, CURLOPT_USERAGENT, "atoll/" ATOLL_VERSION);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	(void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_S);
	(void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, STALL_S);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	return c;
}

/* Returns false if another try may help. */
static bool get_once(CURL *c, const char *url, struct buf *to, struct source_answer *a)
{
	long status = 0;

	buf_clear(to);
	*a = (struct source_answer) { 0 };
	(void)curl_easy_setopt(c, CURLOPT_URL, url);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, to);
	CURLcode rc = curl_easy_perform(c);

	(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	if (rc == CURLE_OK && status == 200) {
		a->n = (uint32_t)to->n;
		return true;
	}
	if (to->bad) {
		a->no = EFBIG;
		(void)snprintf(a->text, sizeof a->text, "the file is too long");
		return true;
	}
	a->no = status == 404 || status == 410 ? ENOENT : rc == CURLE_OK ? EPROTO : ECONNABORTED;
	if (rc == CURLE_OK)
		(void)snprintf(a->text, sizeof a->text, "the server answers with status %ld", status);
	else
		(void)snprintf(a->text, sizeof a->text, "%s", curl_easy_strerror(rc));
	return rc == CURLE_OK && status < 500;
}

static int answer(CURL *c, int fd, const char *from, const struct source_want *want)
{
	autobuf struct buf got = BUF_INIT(want->max);
	autofree char *url = str_fmt("%s%s%s", from, str_ends(str_of(from), "/") ? "" : "/", want->path);
	struct source_answer a = { .no = ENOMEM };

	for (unsigned i = 0; url && i < TRIES && !get_once(c, url, &got, &a); i++)
		(void)sleep(i + 1 < TRIES ? 1u << i : 0);
	int r = fd_write_all(fd, &a, sizeof a);

	return r == 0 && a.no == 0 ? fd_write_all(fd, got.p, got.n) : r;
}

void source_http_run(int fd, const char *from)
{
	struct source_want want;
	struct source_answer a = { 0 };
	struct err e = ERR_INIT;
	int keep[] = { fd };

	fd_close_others(keep, 1);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	CURL *c = confine(&e) == 0 ? prepare() : NULL;

	while (fd_read_all(fd, &want, sizeof want) == 0) {
		want.path[sizeof want.path - 1] = '\0';
		if (c && answer(c, fd, from, &want) == 0)
			continue;
		a.no = e.no ? e.no : ENOMEM;
		(void)snprintf(a.text, sizeof a.text, "%.190s", e.no ? e.text : "out of memory");
		if (c || fd_write_all(fd, &a, sizeof a) < 0)
			break;
	}
	_exit(0);
}
