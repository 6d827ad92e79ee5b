/* SPDX-License-Identifier: Apache-2.0 */
/* files: GET and POST /files, POST /files/compose: whole files in and out, in constant memory. */
#pragma once

#include <sys/stat.h>

#include "init/users.h"

struct http_req;
struct init;

void files_get(struct init *in, struct http_req *rq);
void files_post(struct init *in, struct http_req *rq);
void files_compose(struct init *in, struct http_req *rq);

/* An open regular file as the answer, or a part of it as the request's headers ask. Owns fd. */
void files_send(struct init *in, struct http_req *rq, int fd, const char *path, const struct stat *st);

/* The user that the query names, or the default one. 0, or the request is answered. */
int files_user(struct init *in, struct http_req *rq, struct user *ret);

/* A query parameter, decoded; *ret stays NULL without it. 0, or the request is answered. */
int files_param(struct http_req *rq, const char *name, char **ret);
