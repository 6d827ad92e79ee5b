/* SPDX-License-Identifier: Apache-2.0 */
/* certs: opens the configured files, or those that `atoll tls init` has created. */
#include "warden/certs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "warden/config.h"

#define FILE_MAX (256 * 1024)

int certs_open(const struct config *c, enum tls_file which, int *ret_fd, struct err *e)
{
	const char *given = which == TLS_FILE_CERT ? c->tls_cert : c->tls_key;
	char made[PATH_MAX + 32];
	struct stat st;

	(void)snprintf(made, sizeof made, "%s/" CERTS_DIR "/%s", c->state,
	    which == TLS_FILE_CERT ? "cert.pem" : "key.pem");
	const char *path = given[0] ? given : made;

	/* O_NONBLOCK: a FIFO must not block the warden. Symbolic links are followed, because tools that renew
	 * certificates install them as links. */
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT && !given[0])
		return err_set(e, ENOENT, "no certificate in '%s': run 'atoll tls init', or set tls_cert and tls_key",
		    made);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return err_set(e, EINVAL, "'%s' is not a file of at most %d bytes", path, FILE_MAX);
	if (which == TLS_FILE_KEY && (st.st_mode & 077))
		log_warn("the TLS key is readable by users other than its owner", "path=%s mode=%04o", path,
		    (unsigned)(st.st_mode & 07777));
	*ret_fd = take_fd(&fd);
	return 0;
}
