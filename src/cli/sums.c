/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sums: the files of a directory and their SHA-256. */
#include "cli/sums.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define PIECE (1024 * 1024)
#define HEX 64
#define LIST_MAX (16 * 1024 * 1024)

static int file_sum(int dirfd, const char *name, char hex[HEX + 1], struct err *e)
{
	autoclose int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	autofree char *piece = malloc(PIECE);
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n_sum = 0;
	ssize_t n = -1;

	if (fd >= 0 && ctx && piece && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1) {
		while ((n = read(fd, piece, PIECE)) > 0)
			(void)EVP_DigestUpdate(ctx, piece, (size_t)n);
	}
	if (n == 0 && EVP_DigestFinal_ex(ctx, sum, &n_sum) == 1) {
		for (unsigned i = 0; i < n_sum; i++)
			(void)snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	} else {
		(void)err_set(e, errno ? errno : ENOMEM, "read '%s': %s", name, strerror(errno ? errno : ENOMEM));
	}
	EVP_MD_CTX_free(ctx);
	return -e->no;
}

static int is_file(const struct dirent *d)
{
	return d->d_name[0] != '.' && strcmp(d->d_name, SUMS_FILE) != 0;
}

int sums_write(int dirfd, struct err *e)
{
	autobuf struct buf out = BUF_INIT(LIST_MAX);
	struct dirent **names = NULL;
	char hex[HEX + 1];
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
	autoclose int fd = openat(dirfd, SUMS_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : out.bad ? -ENOMEM : fd_write_all(fd, out.p, out.n);

	return r < 0 ? err_set(e, -r, "write '" SUMS_FILE "': %s", strerror(-r)) : 0;
}

/* One line; its name in place. */
static int check_line(int dirfd, char *line, struct err *e)
{
	char hex[HEX + 1], *name = line + HEX + 2;

	if (strlen(line) < HEX + 3 || line[HEX] != ' ' || line[HEX + 1] != ' ' || strchr(name, '/') || name[0] == '.')
		return err_set(e, EBADMSG, "'" SUMS_FILE "' is damaged");
	if (file_sum(dirfd, name, hex, e) < 0)
		return err_set(e, EBADMSG, "'%s' is not there or cannot be read", name);
	return memcmp(hex, line, HEX) == 0 ? 0 : err_set(e, EBADMSG, "'%s' is damaged: it is not what was written", name);
}

int sums_check(int dirfd, struct err *e)
{
	autofree char *text = malloc(LIST_MAX);
	struct dirent **names = NULL;
	int listed = 0, n = text ? file_read(dirfd, SUMS_FILE, text, LIST_MAX) : -ENOMEM;

	if (n < 0)
		return err_set(e, -n, "read '" SUMS_FILE "': %s", strerror(-n));
	for (char *line = text, *end; e->no == 0 && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (check_line(dirfd, line, e) == 0)
			listed++;
	}
	n = scandirat(dirfd, ".", &names, is_file, NULL);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	if (e->no == 0 && n != listed)
		(void)err_set(e, EBADMSG, "there are %d files and '" SUMS_FILE "' lists %d", n, listed);
	return -e->no;
}
