/* SPDX-License-Identifier: Apache-2.0 */
/* boot_id: read from the kernel. */
#include "base/boot_id.h"

#include <fcntl.h>

#include "base/fd.h"
#include "base/str.h"

int boot_id_read(char ret[BOOT_ID_SIZE], struct err *e)
{
	char z[64];
	ssize_t n = file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", z, sizeof z);

	if (n < 0)
		return err_set(e, (int)-n, "read the boot id");
	struct str s = { z, (size_t)n };

	if (s.n && z[s.n - 1] == '\n')
		s.n--;
	return s.n && str_copy(ret, BOOT_ID_SIZE, s) ? 0 : err_set(e, EBADMSG, "read the boot id");
}
