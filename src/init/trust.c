/* SPDX-License-Identifier: Apache-2.0 */
/* trust: the sandbox may have changed or removed these files; existing content is kept. */
#include "init/trust.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "init/sysfile.h"

#define BUNDLE_MAX (8 * 1024 * 1024)
#define BEGIN "# atoll-egress of this sandbox\n"
#define END "# end of atoll-egress\n"

char *trust_merge(struct str bundle, struct str pem, size_t *ret_n)
{
	struct buf out = BUF_INIT(BUNDLE_MAX + 2 * TRUST_PEM_MAX);
	const char *old = bundle.n ? memmem(bundle.p, bundle.n, BEGIN, strlen(BEGIN)) : NULL;
	size_t at = old ? (size_t)(old - bundle.p) : bundle.n;
	const char *end = old ? memmem(old, bundle.n - at, END, strlen(END)) : NULL;

	buf_put(&out, bundle.p, at);
	if (end)
		buf_put(&out, end + strlen(END), bundle.n - (size_t)(end + strlen(END) - bundle.p));
	if (out.n && out.p[out.n - 1] != '\n')
		buf_ch(&out, '\n');
	buf_z(&out, BEGIN);
	buf_str(&out, pem);
	if (pem.n && pem.p[pem.n - 1] != '\n')
		buf_ch(&out, '\n');
	buf_z(&out, END);
	if (!buf_cstr(&out)) {
		buf_done(&out);
		return NULL;
	}
	*ret_n = out.n;
	return out.p;
}

/* Creates all parent directories of the file. */
static void make_parents(const char *path)
{
	char dir[256];

	if (!str_copy(dir, sizeof dir, str_of(path)))
		return;
	for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(dir, 0755);
		*p = '/';
	}
}

/* Replaces the file by rename, so readers see either the old content or the new. */
static int put_file(const char *path, struct str text, struct err *e)
{
	autofree char *tmp = str_fmt("%s.atoll-new", path);

	if (!tmp)
		return err_set(e, ENOMEM, "write '%s'", path);
	make_parents(path);
	(void)unlink(tmp);
	autoclose int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(e, "write '%s'", path);
	int r = fd_write_all(fd, text.p, text.n);

	if (r < 0 || fchmod(fd, 0644) < 0 || rename(tmp, path) < 0) {
		errno = r < 0 ? -r : errno;
		(void)err_sys(e, "write '%s'", path);
		(void)unlink(tmp);
		return -e->no;
	}
	return 0;
}

int trust_install(struct str pem, const char *bundle, const char *extra, struct err *e)
{
	size_t n = 0, merged_n = 0;

	if (pem.n > TRUST_PEM_MAX || !str_starts(pem, "-----BEGIN CERTIFICATE-----"))
		return err_set(e, EINVAL, "field 'caBundle' must be certificates in PEM, of at most %d bytes",
		    TRUST_PEM_MAX);
	autofree char *old = sysfile_read(bundle, BUNDLE_MAX, &n);
	autofree char *merged = trust_merge((struct str) { old, old ? n : 0 }, pem, &merged_n);

	if (!merged)
		return err_set(e, ENOMEM, "out of memory");
	if (put_file(extra, pem, e) < 0)
		return -e->no;
	return put_file(bundle, (struct str) { merged, merged_n }, e);
}

void trust_env(json_t *vars, const char *bundle)
{
	static const char *const names[] = {
		"SSL_CERT_FILE",
		"REQUESTS_CA_BUNDLE",
		"CURL_CA_BUNDLE",
		"AWS_CA_BUNDLE",
		"NODE_EXTRA_CA_CERTS",
		"DENO_CERT",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)json_object_set_new(vars, names[i], json_string(bundle));
}
