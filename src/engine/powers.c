/* SPDX-License-Identifier: Apache-2.0 */
/* powers: kills processes with more capabilities than a sandbox grants. */
#include "engine/powers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/caps_kept.h"
#include "engine/cgroup/cgroup.h"

#define FREEZE_TRIES 50 /* each takes about a millisecond */

bool powers_within(const char *status)
{
	const char *at = strstr(status, "\nCapBnd:\t");
	uint64_t bounds;

	return at && sscanf(at, "\nCapBnd:\t%" SCNx64, &bounds) == 1 && (bounds & ~(uint64_t)CAPS_KEPT) == 0;
}

static bool is_bound(int pid)
{
	char path[32], text[4096];

	(void)snprintf(path, sizeof path, "/proc/%d/status", pid);
	return file_read(AT_FDCWD, path, text, sizeof text) <= 0 || powers_within(text); /* unreadable: it has exited */
}

static void freeze(struct cgroup_tree *t, const char *id)
{
	struct err e = ERR_INIT;

	for (int i = 0; i < FREEZE_TRIES && cgroup_freeze(t, id, true, &e) == -EAGAIN; i++)
		e = ERR_INIT;
}

size_t powers_enforce(struct cgroup_tree *t, const char *id)
{
	bool was = cgroup_is_frozen(t, id);
	struct err ignored = ERR_INIT;
	size_t n = 0;
	int pid;

	if (!was)
		freeze(t, id);
	FILE *f = cgroup_procs_of(t, id);

	while (f && fscanf(f, "%d", &pid) == 1) {
		if (is_bound(pid))
			continue;
		(void)kill(pid, SIGKILL);
		n++;
	}
	if (f)
		(void)fclose(f);
	if (!was)
		(void)cgroup_freeze(t, id, false, &ignored);
	if (n > 0)
		log_error("killed processes of a sandbox with more privileges than the sandbox allows",
		    "id=%s processes=%zu", id, n);
	return n;
}
