/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build: builds a template of a directory, a Dockerfile or an image. */
#pragma once

#include <stdbool.h>

#include "cli/opts.h"
#include "client/atoll.h"

struct build_opts {
	const char *source; /* what to build */
	const char *name;   /* "name" or "name:tag" */
	const char *file;   /* the Dockerfile, if it is not DIR/Dockerfile */
	const char *target, *start, *ready;
	/* which one, if source is an archive or a layout of several; NULL: it has one */
	const char *image;
	const char *registry_user, *registry_password;
	const struct pairs *args;
	unsigned cpus, memory_mb; /* 0: the server's */
	bool from_template;       /* source is a template, not an image */
	bool is_archive;          /* source is an archive, and must be there */
	bool no_cache, no_start, plain;
};

int build_run(struct atoll *a, const struct build_opts *o); /* the exit status */
