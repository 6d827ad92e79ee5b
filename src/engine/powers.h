/* SPDX-License-Identifier: Apache-2.0 */
/* powers: checks from outside which capabilities the processes of a sandbox have.
 *
 * Versions of the server before the first release made zygotes of users' images too. A process from such an image
 * may still have a zygote's capability, in a sandbox that still runs or in a checkpoint. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cgroup_tree;

/* Kills each process of the sandbox that could have more capabilities than a sandbox grants, and returns their
 * number. The sandbox is frozen meanwhile, so that no process is forked unnoticed. */
size_t powers_enforce(struct cgroup_tree *t, const char *id);

/* status: the text of /proc/PID/status. True if the bounding set is within what a sandbox grants; false if the
 * text does not contain it. */
bool powers_within(const char *status);
