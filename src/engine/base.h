/* SPDX-License-Identifier: Apache-2.0 */
/* base: the memory of a warm interpreter as a file, which the copies of it in sandboxes have mapped.
 *
 * Each page that a copy has not written to is a page of that file: it is in memory once for all of them, in no image, and a sandbox that
 * is restored shares it again. An image has the file beside it (as a clone, which costs nothing), for when the first is gone.
 *
 *	POOL/.bases/KEY-NUMBER		KEY: of the template
 *
 * Who is restored opens it anew, as who he is, so all may read it; nobody but us comes to where it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define BASE_COPY "base"		/* in an image */
#define BASE_NOTE "base.name"		/* ... and "NAME LABEL" */
#define BASE_NAME_SIZE 64
#define BASE_LABEL_SIZE 48

int base_create(int dir, const char *key, char ret_name[BASE_NAME_SIZE], int *ret_fd, struct err *e);	/* for writing */
void base_keep(int dir, const char *key, const char *name);	/* and no other of that template */
void base_remove(int dir, const char *name);
void base_remove_all(int dir);

struct base_found {
	int fd;				/* -1: none of its processes has one */
	char name[BASE_NAME_SIZE];
	char label[BASE_LABEL_SIZE];	/* how CRIU names it */
};

#define BASE_NONE ((struct base_found) { .fd = -1 })

/* In use by a process of that cgroup. */
int base_find(int dir, int cgroup_fd, struct base_found *ret, struct err *e);

int base_save(int image, const struct base_found *b, struct err *e);	/* beside an image */
/* The one that the image was made with, or else the image's own, which takes its place then. For reading; fd -1: it has none. */
int base_open(int dir, int image, struct base_found *ret, struct err *e);
bool base_name_ok(const char *name);
