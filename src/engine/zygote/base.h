/* SPDX-License-Identifier: Apache-2.0 */
/* base: the memory of a zygote as a file, which its copies in sandboxes have mapped.
 *
 * Each page that a copy has not written to is a page of that file: it is in memory once for all copies, it is in
 * no checkpoint, and a restored sandbox shares it again. Each checkpoint has its own reflink of the file (which
 * takes no space), for when the original is gone.
 *
 *	POOL/.bases/KEY-NUMBER		KEY: of the template
 *
 * A restored sandbox reopens the file under its own uid, so it is world-readable; only the warden can reach its
 * directory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BASE_COPY "base"      /* in a checkpoint: the reflink */
#define BASE_NOTE "base.name" /* ... its note, "NAME LABEL" */
#define BASE_USE "base.use"   /* ... the pages of it that the sandbox had in use */
#define BASE_PLACE "/.bases/"
#define BASE_NAME_SIZE 64
#define BASE_LABEL_SIZE 48

/* Creates the file, open for writing. */
int base_create(int dir, const char *key, char ret_name[BASE_NAME_SIZE], int *ret_fd, struct err *e);
void base_keep(int dir, const char *key, const char *name); /* removes all others of that template */
void base_remove(int dir, const char *name);
void base_remove_all(int dir);
void base_remove_others(int dir, const char *const *keys, size_t n); /* removes those of templates not in keys */

struct base_found {
	int fd; /* -1: none of the sandbox's processes has mapped one */
	char name[BASE_NAME_SIZE];
	char label[BASE_LABEL_SIZE]; /* CRIU's name for it */
	bool cold;                   /* recreated from the checkpoint just now: none of it is in the page cache */
};

#define BASE_NONE ((struct base_found) { .fd = -1 })

/* Finds the file that a process of that cgroup has mapped. */
int base_find(int dir, int cgroup_fd, struct base_found *ret, struct err *e);
/* Whether no process of a has another one mapped than the first of b that has one. Looks at few mappings of few
 * processes; false also if it cannot tell. */
bool base_agrees(int dir, int a, int b);

int base_save(int image, const struct base_found *b, struct err *e); /* saves it in a checkpoint */
/* Opens for reading the file that the checkpoint was made with. If it is gone, it is recreated from the
 * checkpoint's own copy. fd -1: the checkpoint has none. */
int base_open(int dir, int image, struct base_found *ret, struct err *e);

struct base_range { /* in pages of 4 KiB */
	uint32_t page, count;
};

/* base_save_use() saves in a checkpoint which pages the frozen processes of that cgroup have in use;
 * base_fetch_use() starts reading all of these into the page cache. Both are optional, so they report no errors. */
void base_save_use(int image, int cgroup_fd, const struct base_found *b);
void base_fetch_use(int image, int base_fd);
size_t base_use_ranges(const uint8_t *used, uint64_t pages, struct base_range *ret, size_t max);

bool base_name_ok(const char *name);
