/* SPDX-License-Identifier: Apache-2.0 */
/* sysfile: reads small system files that the sandbox may have changed. */
#include "init/sysfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"

char *sysfile_read(const char *path, size_t max, size_t *ret_n)
{
	/* O_NONBLOCK: a FIFO in its place must not block pid 1. */
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	autofree char *text = NULL;
	size_t n = 0;

	*ret_n = 0;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 || (size_t)st.st_size > max)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return NULL;
	while (n < (size_t)st.st_size) {
		ssize_t r = read(fd, text + n, (size_t)st.st_size - n);

		if (r <= 0)
			break;
		n += (size_t)r;
	}
	text[n] = '\0';
	*ret_n = n;
	return take_ptr(&text);
}
