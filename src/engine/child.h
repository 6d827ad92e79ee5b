/* SPDX-License-Identifier: Apache-2.0 */
/* child: the set-up process that becomes pid 1 of a sandbox. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "engine/engine.h"
#include "engine/seccomp/seccomp.h"
#include "engine/slot.h"

struct child_spec {
	struct slot slot;
	uint64_t mem_bytes;
	uint32_t open_files;
	bool no_internet;
	const struct seccomp_filter *filter;
	int sock;      /* socket to the builder */
	int ready_fd;  /* init writes one byte when it listens */
	bool own_core; /* core scheduling */
	const struct engine_volume *volumes;
	uint32_t n_volumes;
	bool has_pair; /* its network was prepared */
	bool has_seed; /* init gets a socket to its seed (the copy of a zygote) */
	bool has_view; /* a mount with the sandbox's view of the machine comes with the others */
};

/* Runs in the new namespaces, as pid 1. Never returns: becomes init, or sends its error and exits. */
_Noreturn void child_run(const struct child_spec *sp);
