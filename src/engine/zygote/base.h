/* SPDX-License-Identifier: Apache-2.0 */
/* base: the memory of a warm interpreter as a file, which the copies of it in sandboxes have mapped.
 *
 * Each page that a copy has not written to is a page of that file: it is in memory once for all of them, in no
 * image, and a sandbox that is restored shares it again. An image has the file beside it (as a clone, which costs
 * nothing), for when the first is gone.
 *
 *	POOL/.bases/KEY-NUMBER		KEY: of the template
 *
 * Who is restored opens it anew, as who he is, so all may read it; nobody but us comes to where it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BASE_COPY "base"      /* in an image */
#define BASE_NOTE "base.name" /* ... and "NAME LABEL" */
#define BASE_USE "base.use"   /* ... and which pages of it the sandbox had in use */
#define BASE_PLACE "/.bases/"
#define BASE_NAME_SIZE 64
#define BASE_LABEL_SIZE 48

/* for writing */
int base_create(int dir, const char *key, char ret_name[BASE_NAME_SIZE], int *ret_fd, struct err *e);
void base_keep(int dir, const char *key, const char *name); /* and no other of that template */
void base_remove(int dir, const char *name);
void base_remove_all(int dir);
void base_remove_others(int dir, const char *const *keys, size_t n); /* of templates that are none of these */

struct base_found {
	int fd; /* -1: none of its processes has one */
	char name[BASE_NAME_SIZE];
	char label[BASE_LABEL_SIZE]; /* how CRIU names it */
	bool cold;                   /* put back just now: none of it is in memory */
};

#define BASE_NONE ((struct base_found) { .fd = -1 })

/* In use by a process of that cgroup. */
int base_find(int dir, int cgroup_fd, struct base_found *ret, struct err *e);

int base_save(int image, const struct base_found *b, struct err *e); /* beside an image */
/* The one that the image was made with, or else the image's own, which takes its place then. For reading; fd -1: it has
 * none. */
int base_open(int dir, int image, struct base_found *ret, struct err *e);

struct base_range { /* in pages of 4 KiB */
	uint32_t page, count;
};

/* Beside an image: which pages the frozen processes of that cgroup have in use; and has the kernel fetch these, all at
 * once. Nothing is wrong without. */
void base_save_use(int image, int cgroup_fd, const struct base_found *b);
void base_fetch_use(int image, int base_fd);
size_t base_use_ranges(const uint8_t *used, uint64_t pages, struct base_range *ret, size_t max);

bool base_name_ok(const char *name);
