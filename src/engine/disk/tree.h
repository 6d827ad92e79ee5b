/* SPDX-License-Identifier: Apache-2.0 */
/* tree: deletes a directory tree whose contents are not trusted. */
#pragma once

/* Follows no link and crosses no mount point. Returns 0, -ENOENT or another -errno. */
int tree_remove(int dirfd, const char *name);
