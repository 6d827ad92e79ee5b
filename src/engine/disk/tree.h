/* SPDX-License-Identifier: Apache-2.0 */
/* tree: removes a directory tree that somebody else has written. */
#pragma once

/* Follows no link and leaves no file system; 0, -ENOENT or another -errno. */
int tree_remove(int dirfd, const char *name);
