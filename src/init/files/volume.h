/* SPDX-License-Identifier: Apache-2.0 */
/* volume: the files of a volume over HTTP: /volumecontent/ID/path, dir and file, as the clients call them.
 *
 * The same program as in a sandbox, but not in one: alone in a root that is the volume, root of a user namespace that
 * has the volume's ids, without network and without power over anything else (engine/disk/volume.c), for one
 * connection. The front has checked the token; which volume it is nobody here needs to know. Errors are {"code": a
 * word, "message"}. */
#pragma once

#include <sys/types.h>

#include "base/str.h"

struct http_req;
struct init;

#define VOLUME_OWNER 9090 /* of what is made, if the client does not say */
#define VOLUME_FILE_MODE 0666
#define VOLUME_DIR_MODE 0777
#define VOLUME_ID_MAX 65535

int volume_main(int conn_fd); /* exit code, when the connection has ended */

/* For the files of it. All answer by themselves when they fail. */
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
int volume_parents(struct http_req *rq, const struct volume_target *t); /* makes them, if it is forced */
void volume_fail(struct http_req *rq, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void volume_errno(struct http_req *rq, int no, const char *what, const char *path);
void volume_reply(struct http_req *rq, int status, const char *path, bool follow); /* what is there */

/* volume_file.c */
void volume_file_get(struct init *in, struct http_req *rq);
void volume_file_put(struct init *in, struct http_req *rq);
