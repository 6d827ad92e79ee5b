/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/sums: the files of a directory and their SHA-256 checksums. */
#include "cli/host/sums.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/sandbox/snapshot_file.h"

#define PIECE (1024 * 1024)
#define HEX (SUMS_HEX_SIZE - 1)
#define LIST_MAX (16 * 1024 * 1024)

/* Opens a regular file only; reading a pipe would block. */
static int open_file(int dirfd, const char *name, struct err *e)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	(void)err_set(e, fd < 0 ? errno : EBADMSG, "read '%s': %s", name,
	    fd < 0 ? strerror(errno) : "not a regular file");
	fd_close(fd);
	return -e->no;
}

static void put_hex(const uint8_t *p, size_t n, char *hex)
{
	for (size_t i = 0; i < n; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", p[i]);
}

int sums_hash(int from, int to, char hex[SUMS_HEX_SIZE], struct err *e)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	autofree char *piece = malloc(PIECE);
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n_sum = 0;
	ssize_t n = -1;
	int r = 0;

	errno = ENOMEM;
	if (ctx && piece && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1) {
		while (r == 0 && (n = read(from, piece, PIECE)) > 0) {
			(void)EVP_DigestUpdate(ctx, piece, (size_t)n);
			r = to < 0 ? 0 : fd_write_all(to, piece, (size_t)n);
		}
	}
	if (r < 0)
		(void)err_set(e, -r, "copy the file: %s", strerror(-r));
	else if (n < 0)
		(void)err_sys(e, "read it");
	else if (EVP_DigestFinal_ex(ctx, sum, &n_sum) != 1)
		(void)err_set(e, EIO, "hash it");
	else
		put_hex(sum, n_sum, hex);
	EVP_MD_CTX_free(ctx);
	return -e->no;
}

static int file_sum(int dirfd, const char *name, char hex[HEX + 1], struct err *e)
{
	autoclose int fd = open_file(dirfd, name, e);

	if (fd < 0)
		return -e->no;
	return sums_hash(fd, -1, hex, e) < 0 ? err_wrap(e, "'%s'", name) : 0;
}

/* --- private copies --- */

static int nameless(const char *in, struct err *e)
{
	autofree char *path = str_fmt("%s/.copy-XXXXXX", in);
	int fd = path ? mkostemp(path, O_CLOEXEC) : -1;

	if (fd < 0)
		return err_sys(e, "create a file in '%s'", in);
	(void)unlink(path);
	return fd;
}

static int copy_and_hash(int from, const char *in, int *ret_fd, char hex[HEX + 1], struct err *e)
{
	autoclose int to = nameless(in, e);

	if (to < 0)
		return -e->no;
	if (sums_hash(from, to, hex, e) < 0)
		return -e->no;
	if (lseek(to, 0, SEEK_SET) < 0)
		return err_sys(e, "read the copy");
	*ret_fd = take_fd(&to);
	return 0;
}

int private_copy(int from, const char *in, int *ret_fd, struct err *e)
{
	char hex[HEX + 1];

	if (lseek(from, 0, SEEK_SET) < 0)
		return err_sys(e, "read it");
	return copy_and_hash(from, in, ret_fd, hex, e);
}

/* --- the list --- */

static int is_file(const struct dirent *d)
{
	return d->d_name[0] != '.' && strcmp(d->d_name, SUMS_FILE) != 0 && strcmp(d->d_name, SUMS_SIGNATURE) != 0;
}

static int write_text(int dirfd, const char *name, struct str text, struct err *e)
{
	autoclose int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : fd_write_all(fd, text.p, text.n);

	return r < 0 ? err_set(e, -r, "write '%s': %s", name, strerror(-r)) : 0;
}

static int sign(struct str text, const char *key_file, bool may_make, char hex[HEX + 1], struct err *e)
{
	uint8_t key[SNAPSHOT_KEY_BYTES], mac[SNAPSHOT_MAC_BYTES];
	size_t n = 0;

	if (snapshot_key(key_file, may_make, key, e) < 0)
		return -e->no;
	/* The signing key is derived with this label, so that it differs from the one for snapshots. */
	static const char label[] = "atoll backup";
	uint8_t own[SNAPSHOT_MAC_BYTES];
	bool ok = EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, sizeof key, (const unsigned char *)label,
		      sizeof label - 1, own, sizeof own, &n) &&
	    EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, own, sizeof own, (const unsigned char *)text.p, text.n, mac,
		sizeof mac, &n);

	OPENSSL_cleanse(key, sizeof key);
	OPENSSL_cleanse(own, sizeof own);
	if (!ok || n != sizeof mac)
		return err_set(e, EIO, "sign the list of files");
	put_hex(mac, sizeof mac, hex);
	return 0;
}

int sums_write(int dirfd, const char *key_file, struct err *e)
{
	autobuf struct buf out = BUF_INIT(LIST_MAX);
	struct dirent **names = NULL;
	char hex[HEX + 2];
	int n = scandirat(dirfd, ".", &names, is_file, alphasort);

	if (n < 0)
		return err_sys(e, "read the directory");
	for (int i = 0; i < n; i++) {
		if (e->no == 0 && file_sum(dirfd, names[i]->d_name, hex, e) == 0)
			buf_fmt(&out, "%s  %s\n", hex, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (e->no)
		return -e->no;
	if (out.bad)
		return err_set(e, ENOMEM, "out of memory");
	if (write_text(dirfd, SUMS_FILE, buf_view(&out), e) < 0 || sign(buf_view(&out), key_file, true, hex, e) < 0)
		return -e->no;
	memcpy(hex + HEX, "\n", 2);
	return write_text(dirfd, SUMS_SIGNATURE, str_of(hex), e);
}

static int check_signature(int dirfd, const char *text, const char *key_file, struct err *e)
{
	char has[HEX + 8], want[HEX + 1];
	ssize_t n = file_read(dirfd, SUMS_SIGNATURE, has, sizeof has);

	if (n == -ENOENT)
		return err_set(e, EBADMSG,
		    "the backup is not signed: it was made by an older atoll. If nobody else could change it, use "
		    "--unsigned");
	if (n < 0)
		return err_set(e, (int)-n, "read '" SUMS_SIGNATURE "': %s", strerror((int)-n));
	if (sign(str_of(text), key_file, false, want, e) < 0)
		return -e->no;
	if (n < HEX || CRYPTO_memcmp(has, want, HEX) != 0)
		return err_set(e, EBADMSG, "the backup was changed, or was not signed with the key '%s'", key_file);
	return 0;
}

int sums_read(int dirfd, const char *key_file, struct sums *ret, struct err *e)
{
	autofree char *text = malloc(LIST_MAX);
	ssize_t n = text ? file_read(dirfd, SUMS_FILE, text, LIST_MAX) : -ENOMEM;

	if (n < 0)
		return err_set(e, (int)-n, "read '" SUMS_FILE "': %s", strerror((int)-n));
	if (key_file && check_signature(dirfd, text, key_file, e) < 0)
		return -e->no;
	ret->text = take_ptr(&text);
	return 0;
}

void sums_done(struct sums *s)
{
	free(s->text);
}

/* Parses one line: checksum and name. */
static int read_line(struct str line, struct str *ret_hex, struct str *ret_name, struct err *e)
{
	*ret_hex = (struct str) { line.p, HEX };
	*ret_name = (struct str) { line.p + HEX + 2, line.n - HEX - 2 };
	if (line.n < HEX + 3 || line.p[HEX] != ' ' || line.p[HEX + 1] != ' ' || memchr(ret_name->p, '/', ret_name->n) ||
	    ret_name->p[0] == '.')
		return err_set(e, EBADMSG, "'" SUMS_FILE "' is damaged");
	return 0;
}

static int check_line(int dirfd, struct str line, struct err *e)
{
	struct str want, text;
	char hex[HEX + 1];

	if (read_line(line, &want, &text, e) < 0)
		return -e->no;
	autofree char *name = str_dup(text);

	if (!name)
		return err_set(e, ENOMEM, "out of memory");
	if (file_sum(dirfd, name, hex, e) < 0)
		return err_set(e, EBADMSG, "'%s' is missing or unreadable", name);
	return memcmp(hex, want.p, HEX) == 0 ? 0 : err_set(e, EBADMSG, "'%s' is damaged: its checksum differs", name);
}

int sums_check(int dirfd, const struct sums *s, struct err *e)
{
	struct str rest = str_of(s->text);
	struct dirent **names = NULL;
	int listed = 0;

	while (e->no == 0 && rest.p && rest.n > 0) {
		if (check_line(dirfd, str_cut(&rest, '\n'), e) == 0)
			listed++;
	}
	int n = scandirat(dirfd, ".", &names, is_file, NULL);

	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	if (e->no == 0 && n != listed)
		(void)err_set(e, EBADMSG, "the backup has %d files, but '" SUMS_FILE "' lists %d", n, listed);
	return -e->no;
}

int sums_copy(int dirfd, const struct sums *s, const char *name, const char *in, int *ret_fd, struct err *e)
{
	struct str rest = str_of(s->text), want, of;
	char hex[HEX + 1];

	while (rest.p && rest.n > 0) {
		if (read_line(str_cut(&rest, '\n'), &want, &of, e) < 0)
			return -e->no;
		if (!str_is(of, name))
			continue;
		autoclose int from = open_file(dirfd, name, e), copy = -1;

		if (from < 0 || copy_and_hash(from, in, &copy, hex, e) < 0)
			return -e->no;
		if (memcmp(hex, want.p, HEX) != 0)
			return err_set(e, EBADMSG, "'%s' is damaged: its checksum differs", name);
		*ret_fd = take_fd(&copy);
		return 0;
	}
	return -ENOENT;
}
