/* SPDX-License-Identifier: Apache-2.0 */
/* ca_bundle: two files. */
#include "base/ca_bundle.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

#define SYSTEM_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define PIECE 65536

static int add_file(struct buf *out, const char *path, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	char *p;

	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	while ((p = buf_room(out, PIECE)) && (n = read(fd, p, PIECE)) > 0)
		out->n += (size_t)n;
	if (!p)
		return err_set(e, EFBIG, "'%s' is too large", path);
	if (n < 0)
		return err_sys(e, "read '%s'", path);
	buf_ch(out, '\n');
	return 0;
}

int ca_bundle_read(struct buf *out, const char *file, struct err *e)
{
	struct err none = ERR_INIT;

	(void)add_file(out, SYSTEM_BUNDLE, &none); /* without it only the other file is trusted */
	return *file ? add_file(out, file, e) : 0;
}
