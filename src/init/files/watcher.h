/* SPDX-License-Identifier: Apache-2.0 */
/* watcher: what happens in a directory, or in a whole tree, as events of the API.
 *
 * One inotify instance each, as many as a sandbox may have. Directories that appear are watched too, and what is found
 * in them by then is reported as created (and written, if there is something in it), because it may have been there
 * before the watch was. */
#pragma once

#include <stdbool.h>

struct init;
struct watcher;

struct watcher_ops {
	/* name is relative to the watched directory ("." for itself), path absolute; both borrowed. */
	void (*on_event)(void *user, const char *type, const char *name, const char *path);
	/* so far for now: the kernel had no more, or its buffer was full; may be NULL */
	void (*on_batch)(void *user);
	void (*on_error)(void *user, const char *why); /* terminal */
};

int watcher_new(struct init *in, const char *path, bool recursive, const struct watcher_ops *ops, void *user,
    struct watcher **ret);                      /* -errno; -EUSERS: too many */
void watcher_settle(struct watcher *w);         /* reports what the kernel has by now */
void watcher_pause(struct watcher *w, bool on); /* the kernel queues meanwhile, up to its limit */
void watcher_free(struct watcher *w);           /* NULL is fine; also from inside a callback */
