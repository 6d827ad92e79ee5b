/* SPDX-License-Identifier: Apache-2.0 */
/* atoll tls: a local certificate authority and the server's certificate, for names that no public authority signs. */
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/host/tls.h"
#include "cli/host/x509.h"
#include "cli/paths.h"
#include "cli/settings.h"

#define CA_DAYS 3650
#define CERT_DAYS 397       /* the longest validity that all clients accept */
#define CERT_RENEW_DAYS 200 /* on start, renewed if less is left: a server may run for months */
#define PEM_MAX (256 * 1024)
#define BUNDLE_MAX (16 * 1024 * 1024)
#define SYSTEM_ROOTS "/etc/ssl/certs/ca-certificates.crt"
#define SYSTEM_STORE "/usr/local/share/ca-certificates"

struct job {
	const char *state, *domain, *public_dir;
	int64_t days;
	bool trust, new_ca;
	int dir; /* STATE/tls */
	struct buf ca, ca_key;
};

static int make_dirs(struct job *j, struct err *e)
{
	if (mkdir(j->state, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "create directory '%s'", j->state);
	autofree char *path = str_fmt("%s/tls", j->state);
	if (!path)
		return err_set(e, ENOMEM, "out of memory");
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "create directory '%s'", path);
	j->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return j->dir < 0 ? err_sys(e, "open '%s'", path) : 0;
}

/* Replaces the file atomically: a server that reads it meanwhile gets the old or the new contents. */
static int put_file(int dir, const char *name, struct str text, mode_t mode, struct err *e)
{
	char tmp[64];

	(void)snprintf(tmp, sizeof tmp, ".%s.new", name);
	(void)unlinkat(dir, tmp, 0);
	autoclose int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return err_sys(e, "create '%s'", name);
	int r = fd_write_all(fd, text.p, text.n);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "write '%s'", name);
	}
	if (fchmod(fd, mode) < 0 || fsync(fd) < 0 || renameat(dir, tmp, dir, name) < 0)
		return err_sys(e, "rename '%s' into place", name);
	return 0;
}

static int get_file(int dir, const char *name, struct buf *ret)
{
	char *p = buf_room(ret, ret->max);
	ssize_t n = p ? file_read(dir, name, p, ret->max) : -ENOMEM;

	if (n >= 0)
		ret->n += (size_t)n;
	return n < 0 ? (int)n : 0;
}

static int get_authority(struct job *j, const struct x509_names *names, struct err *e)
{
	char host[256] = "", common_name[300];
	int r = j->new_ca ? -ENOENT : get_file(j->dir, "ca.pem", &j->ca);

	if (r == 0)
		r = get_file(j->dir, "ca-key.pem", &j->ca_key);
	if (r < 0 && r != -ENOENT) {
		errno = -r;
		return err_sys(e, "read the authority in '%s/tls'", j->state);
	}
	if (r == 0)
		return 0;
	(void)gethostname(host, sizeof host - 1);
	(void)snprintf(common_name, sizeof common_name, "atoll local CA of %.40s", host);
	buf_clear(&j->ca);
	buf_clear(&j->ca_key);
	if (x509_make_ca(common_name, names, CA_DAYS, &j->ca, &j->ca_key, e) < 0 ||
	    put_file(j->dir, "ca-key.pem", buf_view(&j->ca_key), 0600, e) < 0 ||
	    put_file(j->dir, "ca.pem", buf_view(&j->ca), 0644, e) < 0)
		return -e->no;
	say("created a certificate authority for %s (valid for ten years; it can sign for no other domain)", j->domain);
	return 0;
}

/* Creates a directory that everyone may traverse, regardless of the umask. An existing directory is not changed. */
static int make_public_dir(const char *path)
{
	if (mkdir(path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, 0755) < 0 ? -errno : 0;
}

static int make_public_path(const char *path, struct err *e)
{
	autofree char *part = strdup(path);
	int r = part ? 0 : -ENOMEM;

	for (char *slash = part ? strchr(part + 1, '/') : NULL; r == 0 && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = make_public_dir(part);
		*slash = '/';
	}
	if (r == 0)
		r = make_public_dir(path);
	errno = -r;
	return r < 0 ? err_sys(e, "create directory '%s'", path) : 0;
}

/* Copies the certificates to a directory that all users can read; STATE is readable by root only. */
static int put_public(const struct job *j, struct err *e)
{
	autobuf struct buf bundle = BUF_INIT(BUNDLE_MAX);
	autoclose int dir = -1;

	if (make_public_path(j->public_dir, e) < 0)
		return -e->no;
	dir = open(j->public_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys(e, "open '%s'", j->public_dir);
	(void)get_file(AT_FDCWD, SYSTEM_ROOTS, &bundle); /* may be missing */
	if (bundle.bad)
		return err_set(e, EFBIG, "read " SYSTEM_ROOTS);
	buf_str(&bundle, buf_view(&j->ca));
	if (put_file(dir, "ca.pem", buf_view(&j->ca), 0644, e) < 0 ||
	    put_file(dir, "bundle.pem", buf_view(&bundle), 0644, e) < 0)
		return err_wrap(e, "in '%s'", j->public_dir);
	return put_file(j->dir, "public", str_of(j->public_dir), 0644, e);
}

static int trust(const struct job *j, struct err *e)
{
	const char *const update[] = { "update-ca-certificates", NULL };
	autoclose int dir = open(SYSTEM_STORE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct x509_info info;
	char name[48];
	int status;

	if (dir < 0)
		return err_sys(e, "open " SYSTEM_STORE " (is the package ca-certificates installed?)");
	if (x509_info(buf_view(&j->ca), &info, e) < 0)
		return -e->no;
	(void)snprintf(name, sizeof name, "atoll-%.16s.crt", info.fingerprint);
	if (put_file(dir, name, buf_view(&j->ca), 0644, e) < 0)
		return err_wrap(e, "in " SYSTEM_STORE);
	if (cli_child_run(update, true, &status, e) < 0)
		return -e->no;
	if (status != 0)
		return err_set(e, EIO, "update-ca-certificates exited with status %d", status);
	say("this machine trusts the authority now; to undo: rm " SYSTEM_STORE "/%s && update-ca-certificates --fresh",
	    name);
	return 0;
}

static int init(struct job *j, struct err *e)
{
	autobuf struct buf cert = BUF_INIT(PEM_MAX), key = BUF_INIT(PEM_MAX);
	autofree char *star = str_fmt("*.%s", j->domain);
	const char *dns[] = { j->domain, star, "localhost" };
	const struct x509_names names = { dns, ARRAY_LEN(dns), .loopback = true };

	if (!star)
		return err_set(e, ENOMEM, "out of memory");
	if (make_dirs(j, e) < 0 || get_authority(j, &names, e) < 0)
		return -e->no;
	int r = x509_make_cert(buf_view(&j->ca), buf_view(&j->ca_key), &names, (unsigned)j->days, &cert, &key, e);
	if (r == -EKEYREJECTED)
		return err_wrap(e, "--new-ca creates another one, which clients have to install");
	/* The key comes first: a server that reloads in between finds a mismatch and tries again. */
	if (r < 0 || put_file(j->dir, "key.pem", buf_view(&key), 0600, e) < 0 ||
	    put_file(j->dir, "cert.pem", buf_view(&cert), 0644, e) < 0 ||
	    put_file(j->dir, "domain", str_of(j->domain), 0644, e) < 0)
		return -e->no;
	explicit_bzero(key.p, key.n);
	say("created a certificate for %s and *.%s (%lld days)", j->domain, j->domain, (long long)j->days);
	if (put_public(j, e) < 0)
		return -e->no;
	return j->trust ? trust(j, e) : 0;
}

static void job_done(struct job *j)
{
	if (j->ca_key.p)
		explicit_bzero(j->ca_key.p, j->ca_key.n);
	buf_done(&j->ca_key);
	buf_done(&j->ca);
	fd_close(j->dir);
}

/* True if key and certificate exist and need no renewal yet. */
static bool is_good(struct job *j)
{
	autobuf struct buf cert = BUF_INIT(PEM_MAX);
	struct x509_info info;
	struct err e = ERR_INIT;

	return faccessat(j->dir, "key.pem", R_OK, 0) == 0 && get_file(j->dir, "ca.pem", &j->ca) == 0 &&
	    get_file(j->dir, "cert.pem", &cert) == 0 && x509_info(buf_view(&cert), &info, &e) == 0 &&
	    info.not_after - (int64_t)time(NULL) > (int64_t)CERT_RENEW_DAYS * 86400;
}

static int publish_in(struct job *j, const char *dir, bool good, struct err *e)
{
	j->public_dir = dir;
	return good ? put_public(j, e) : init(j, e);
}

int tls_make_local(const char *state, const char *run_dir, struct err *e)
{
	struct job j = { .state = state,
		.days = CERT_DAYS,
		.dir = -1,
		.ca = BUF_INIT(PEM_MAX),
		.ca_key = BUF_INIT(PEM_MAX) };
	autofree char *dir = str_fmt("%s/tls", state), *in_run = str_fmt("%s/tls", run_dir), *domain = NULL,
		      *known = NULL;

	if (!dir || !in_run)
		return err_set(e, ENOMEM, "out of memory");
	j.domain = settings_read_line(dir, "domain", &domain) == 0 ? domain : TLS_DOMAIN_DEFAULT;
	const char *first = strcmp(state, STATE_DIR_DEFAULT) == 0 ? TLS_PUBLIC_DEFAULT : in_run;

	if (settings_read_line(dir, "public", &known) == 0 && strcmp(known, dir) != 0)
		first = known;
	int r = make_dirs(&j, e);
	bool good = r == 0 && is_good(&j);

	if (r == 0)
		r = publish_in(&j, first, good, e);
	if (r < 0 && j.dir >= 0 && strcmp(first, in_run) != 0) { /* for example, /etc is read-only */
		*e = ERR_INIT;
		r = publish_in(&j, in_run, is_good(&j), e);
	}
	job_done(&j);
	return r;
}

bool tls_names_resolve(const char *domain)
{
	autofree char *name = str_fmt("8000-i0000000000000000000.%.*s", (int)strcspn(domain, ":"), domain);
	struct addrinfo *found = NULL;

	(void)setenv("RES_OPTIONS", "timeout:1 attempts:1", 1); /* the user is waiting for the answer */
	int no = name ? getaddrinfo(name, NULL, &(struct addrinfo) { .ai_socktype = SOCK_STREAM }, &found) : EAI_MEMORY;

	if (no == 0)
		freeaddrinfo(found);
	return no == 0;
}

static void explain(const struct job *j)
{
	(void)printf("# For clients ('sudo atoll env --tls' prints all variables):\nexport "
		     "NODE_EXTRA_CA_CERTS='%s/ca.pem'\nexport SSL_CERT_FILE='%s/bundle.pem' "
		     "REQUESTS_CA_BUNDLE='%s/bundle.pem'\n",
	    j->public_dir, j->public_dir, j->public_dir);
	say("the server uses it from its next start; to reload a running server: systemctl reload atoll, or send "
	    "SIGHUP to atolld");
}

static bool is_below(const char *name, const char *domain)
{
	size_t n = strlen(name), d = strlen(domain);

	return n > d && name[n - d - 1] == '.' && strcmp(name + n - d, domain) == 0;
}

static int check_domain(const struct verb *v, const char *domain)
{
	if (!x509_name_valid(domain) || domain[0] == '*')
		return usage_error(v,
		    "--domain '%s': must be a name such as sandboxes.example.org, in lower case and without a port",
		    domain);
	if (!strchr(domain, '.'))
		return usage_error(v,
		    "--domain '%s': clients do not accept a certificate for *.%s: use a name with a dot, such as "
		    "atoll.%s",
		    domain, domain, domain);
	if (!is_below(domain, "localhost"))
		say("*.%s must resolve to this machine's address: add a wildcard DNS record", domain);
	return 0;
}

static int run_init(const struct verb *v, int argc, char **argv)
{
	struct job j = { .state = STATE_DIR_DEFAULT,
		.days = CERT_DAYS,
		.dir = -1,
		.ca = BUF_INIT(PEM_MAX),
		.ca_key = BUF_INIT(PEM_MAX) };
	const struct opt opts[] = {
		{ "state", 0, OPT_STR, &j.state },
		{ "domain", 0, OPT_STR, &j.domain },
		{ "days", 0, OPT_NUMBER, &j.days },
		{ "public", 0, OPT_STR, &j.public_dir },
		{ "trust", 0, OPT_FLAG, &j.trust },
		{ "new-ca", 0, OPT_FLAG, &j.new_ca },
	};
	struct err e = ERR_INIT;
	autofree char *state = NULL, *dir = NULL, *known = NULL, *public_dir = NULL;
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	if (j.days < 1 || j.days > CA_DAYS - 1)
		return usage_error(v, "--days must be from 1 to %d", CA_DAYS - 1);
	j.state = state = path_absolute(j.state);
	dir = state ? str_fmt("%s/tls", state) : NULL;
	if (!dir)
		return fail("out of memory");
	if (!j.domain && settings_read_line(dir, "domain", &known) == 0)
		j.domain = known;
	if (!j.domain)
		j.domain = TLS_DOMAIN_DEFAULT;
	rc = check_domain(v, j.domain);
	if (rc != 0)
		return rc;
	if (j.public_dir)
		j.public_dir = public_dir = path_absolute(j.public_dir);
	else if (settings_read_line(dir, "public", &public_dir) == 0)
		j.public_dir = public_dir;
	else
		j.public_dir = strcmp(j.state, STATE_DIR_DEFAULT) == 0 ? TLS_PUBLIC_DEFAULT : dir;
	if (!j.public_dir)
		return fail("out of memory");
	rc = init(&j, &e) < 0 ? fail("%s", e.text) : 0;
	if (rc == 0)
		explain(&j);
	job_done(&j);
	return rc;
}

static const struct verb verb_tls_init = {
	.name = "tls init",
	.summary = "Create or renew the server's certificate, signed by its own authority",
	.synopsis = "[--domain NAME] [--days N] [--trust] [--new-ca] [--public DIR] [--state DIR]",
	.help = "Creates a certificate authority (once) and a certificate for NAME and *.NAME in the\n"
		"server's state directory. If run again, renews the certificate and keeps the authority.\n"
		"\n"
		"      --domain NAME  domain of the sandboxes' host names (default: the last one used, else\n"
		"                     " TLS_DOMAIN_DEFAULT ", which clients on this machine resolve with\n"
		"                     libnss-myhostname)\n"
		"      --days N       validity of the certificate (default: 397)\n"
		"      --trust        also make all programs of this machine trust the authority\n"
		"                     (update-ca-certificates)\n"
		"      --new-ca       replace the authority, too\n"
		"      --public DIR   directory of ca.pem and bundle.pem for clients\n"
		"                     (default: " TLS_PUBLIC_DEFAULT ", or tls/ in another state directory)\n"
		"      --state DIR    state directory of the server (default: " STATE_DIR_DEFAULT ")\n"
		"\n"
		"To use your own certificate instead, set tls_cert and tls_key in atoll.conf(5).\n",
	.run = run_init,
};

static const struct verb *const subs[] = { &verb_tls_init, NULL };

const struct verb verb_tls = {
	.name = "tls",
	.summary = "Create a certificate for host names over TLS",
	.synopsis = "init [OPTIONS]",
	.help = "",
	.run = verb_group,
	.subs = subs,
};
