/* SPDX-License-Identifier: Apache-2.0 */
/* volume: the files of a volume over HTTP: /volumecontent/ID/path, dir and file, as the clients name them.
 *
 * This is the same program as in a sandbox, but it runs outside of one and serves one connection. Its root
 * directory is the volume; it is root of a user namespace with the volume's ids, without network or any other
 * privilege (engine/disk/volume.c). The front has checked the token; the volume's id is not used here. Errors are
 * {"code": a word, "message"}. */
#pragma once

#include <sys/types.h>

#include "base/str.h"

struct http_req;
struct init;

#define VOLUME_OWNER 9090 /* owner of new entries, unless the client names one */
#define VOLUME_FILE_MODE 0666
#define VOLUME_DIR_MODE 0777
#define VOLUME_ID_MAX 65535

int volume_main(int conn_fd); /* returns the exit code when the connection has ended */

/* Shared by the files of volume. All functions that fail have answered the request. */
struct volume_target {
	char *path; /* absolute and clean */
	uid_t uid;
	gid_t gid;
	mode_t mode;
	bool force;
};

int volume_path(struct http_req *rq, char **ret);
int volume_target(struct http_req *rq, mode_t mode, struct volume_target *ret);
void volume_target_done(struct volume_target *t);
int volume_parents(struct http_req *rq, const struct volume_target *t); /* makes missing parents, if force is set */
void volume_fail(struct http_req *rq, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void volume_errno(struct http_req *rq, int no, const char *what, const char *path);
void volume_reply(struct http_req *rq, int status, const char *path, bool follow); /* answers with the entry at path */

/* volume_file.c */
void volume_file_get(struct init *in, struct http_req *rq);
void volume_file_put(struct init *in, struct http_req *rq);
