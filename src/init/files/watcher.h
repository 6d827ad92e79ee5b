/* SPDX-License-Identifier: Apache-2.0 */
/* watcher: reports changes in a directory, or in a whole tree, as events of the API.
 *
 * Each watcher has one inotify instance, of which a sandbox has a limited number. New directories are watched too.
 * What a new directory already contains is reported as created (and as written, if it is not empty), because it
 * may be older than the watch. */
#pragma once

#include <stdbool.h>

struct init;
struct watcher;

struct watcher_ops {
	/* name is relative to the watched directory ("." for itself), path absolute; both borrowed. */
	void (*on_event)(void *user, const char *type, const char *name, const char *path);
	/* the end of a batch: the kernel had no more events, or the read buffer was full; may be NULL */
	void (*on_batch)(void *user);
	void (*on_error)(void *user, const char *why); /* the watcher has failed: no more events */
};

int watcher_new(struct init *in, const char *path, bool recursive, const struct watcher_ops *ops, void *user,
    struct watcher **ret);                      /* -errno; -EUSERS: too many */
void watcher_settle(struct watcher *w);         /* reports the events that the kernel has queued so far */
void watcher_pause(struct watcher *w, bool on); /* the kernel queues events meanwhile, up to its limit */
void watcher_free(struct watcher *w);           /* NULL is fine; allowed inside a callback */
