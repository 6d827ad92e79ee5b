/* SPDX-License-Identifier: Apache-2.0 */
/* files: GET and POST /files, POST /files/compose: transfers whole files in constant memory. */
#pragma once

#include <sys/stat.h>

#include "init/users.h"

struct http_req;
struct init;

void files_get(struct init *in, struct http_req *rq);
void files_post(struct init *in, struct http_req *rq);
void files_compose(struct init *in, struct http_req *rq);

/* Answers with an open regular file, or the part of it that the request's headers ask for. Owns fd. */
void files_send(struct init *in, struct http_req *rq, int fd, const char *path, const struct stat *st);

/* The user named in the query, or the default one. 0, or the request is answered. */
int files_user(struct init *in, struct http_req *rq, struct user *ret);

/* A query parameter, decoded; *ret stays NULL if it is absent. 0, or the request is answered. */
int files_param(struct http_req *rq, const char *name, char **ret);
