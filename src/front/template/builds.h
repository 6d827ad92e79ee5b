/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/builds: the template builds in progress. */
#pragma once

#include <sys/queue.h>

struct accounts;
struct build;
struct image_gc;
struct links;
struct records;
struct sandboxes;

TAILQ_HEAD(build_list, build); /* waiting and running builds, oldest first */

struct builds {
	struct links *link;
	struct accounts *account;
	struct records *record;
	struct sandboxes *sandbox;
	struct build_list list;
	struct image_gc *image_gc; /* NULL: not running */
};
