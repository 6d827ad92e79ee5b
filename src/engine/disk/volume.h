/* SPDX-License-Identifier: Apache-2.0 */
/* volume: directories that outlive sandboxes: made, mounted into sandboxes, served to clients.
 *
 * On disk the ids in a volume are those that its sandboxes see (0 to 65535). Each sandbox has other ids on the host, so
 * each gets an id-mapped mount of its own; that is how a file which one has written belongs to the same user in
 * another. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/engine.h"

struct engine;

/* Of the engine's table; see engine.h. */
int volume_set(struct engine *en, const char *name, uint64_t bytes, struct err *e);
int volume_delete(struct engine *en, const char *name, struct err *e);
int volume_each(struct engine *en, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
    struct err *e);
int volume_serve(struct engine *en, const char *name, uint32_t place, int sock, struct err *e);

/* The mounts of a sandbox, volume_mounts.c: cloned while the pool's mount is in our mount namespace; then with the ids
 * of the sandbox; then, in the sandbox and with its power only, put where they belong. */
int volume_mounts_clone(struct engine *en, const struct engine_spec *spec, int *ret_fds, struct err *e);
int volume_mounts_map(const int *fds, uint32_t n, int userns_fd, struct err *e);
int volume_mounts_put(const struct engine_volume *v, const int *fds, uint32_t n, struct err *e);

/* what CRIU calls a volume: its name, and which of the sandbox's mounts it is */
#define VOLUME_EXTERNAL "vol-%s-%u"
#define VOLUME_DUMP_SIZE (ENGINE_PATH_SIZE * 2 + 64)

/* The argument by which CRIU leaves the ith volume of a sandbox alone. It wants the place where that is now:
 * directories above a mount can be renamed. mountinfo: of the sandbox's pid 1, by volume_mounts_read(). */
int volume_mounts_arg(const char *mountinfo, const struct engine_spec *spec, uint32_t i, char ret[VOLUME_DUMP_SIZE],
    struct err *e);
int volume_mounts_read(pid_t pid, char **ret, struct err *e);
