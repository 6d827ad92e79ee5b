/* SPDX-License-Identifier: Apache-2.0 */
/* powers: what the processes of a sandbox may do, looked at from outside.
 *
 * Versions of the server before the first release made zygotes of users' images, too. A process of such an image may
 * have kept the power of one, in a sandbox that still runs or in an image of its memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cgroup_tree;

/* Ends each process of that sandbox that could have more capabilities than a sandbox gives; says how many there were.
 * It is frozen meanwhile, so that none is born unseen. */
size_t powers_enforce(struct cgroup_tree *t, const char *id);

/* The text of /proc/PID/status: whether its bounding set is within what a sandbox gives. False if it does not say. */
bool powers_within(const char *status);
