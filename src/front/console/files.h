/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/files: the files of the console, read into memory before the front gives up the file system.
 *
 * A file may have compressed forms beside it: NAME.gz, NAME.br, NAME.zst. Only names that were found then are served,
 * so no name in a request is ever resolved. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum coding { CODING_NONE, CODING_GZIP, CODING_ZSTD, CODING_BROTLI, CODINGS }; /* the later the better */

#define ETAG_SIZE 40
#define FILE_NAME_SIZE 256

struct file_form {
	char *p; /* NULL: the file has no such form */
	size_t n;
	char etag[ETAG_SIZE]; /* with its quotes */
};

struct console_file {
	char name[FILE_NAME_SIZE]; /* relative, with '/' */
	const char *type;          /* media type */
	bool is_hashed;            /* the name changes with the content */
	struct file_form forms[CODINGS];
};

struct console_files;

/* Reads the directory and those below it. Links, special files and hidden names are ignored. */
int console_files_read(int dir_fd, struct console_files **ret, struct err *e);
void console_files_free(struct console_files *f); /* NULL is fine */
size_t console_files_count(const struct console_files *f);
size_t console_files_bytes(const struct console_files *f);

/* name: below /console/, as in the request. NULL: no such file. */
const struct console_file *console_file_find(const struct console_files *f, struct str name);

/* The best form of a file that an Accept-Encoding field allows (STR_NULL: none is sent). */
enum coding console_file_choose(const struct console_file *file, struct str accept_encoding);
const char *coding_name(enum coding c); /* for Content-Encoding; NULL: none */

/* Whether one of the tags of an If-None-Match field is that one. */
bool etag_listed(struct str if_none_match, const char *etag);

/* "NAME-HASH.EXT", with 8 of A-Z and 2-7 as esbuild writes them. */
bool console_name_is_hashed(const char *name);
