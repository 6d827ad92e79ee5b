/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build: builds a template from a directory, a Dockerfile or an image. */
#pragma once

#include <stdbool.h>

#include "cli/opts.h"
#include "client/atoll.h"

struct build_opts {
	const char *source; /* what to build */
	const char *name;   /* "name" or "name:tag" of the template */
	const char *file;   /* path of the Dockerfile, if not DIR/Dockerfile */
	const char *target, *start, *ready;
	/* Which image to use if source is an archive or layout that contains several; NULL if it contains one. */
	const char *image;
	const char *registry_user, *registry_password;
	const struct pairs *args;
	unsigned cpus, memory_mb; /* 0: the server's default */
	bool from_template;       /* source names a template, not an image */
	bool is_archive;          /* source is an archive, which must exist */
	bool no_cache, no_start, plain;
};

int build_run(struct atoll *a, const struct build_opts *o); /* returns the exit status */
