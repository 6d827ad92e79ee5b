/* SPDX-License-Identifier: Apache-2.0 */
/* volume: directories that outlive sandboxes: creates them, mounts them into sandboxes, and serves them to
 * clients.
 *
 * On disk the ids in a volume are those that its sandboxes see (0 to 65535). Each sandbox has other ids on the
 * host, so each gets an id-mapped mount of its own. A file that one sandbox has written thus belongs to the same
 * user in another. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/engine.h"

struct engine;

/* Functions of the engine's table; see engine.h. */
int volume_set(struct engine *en, const char *name, uint64_t bytes, struct err *e);
int volume_delete(struct engine *en, const char *name, struct err *e);
int volume_each(struct engine *en, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
    struct err *e);
int volume_serve(struct engine *en, const char *name, uint32_t place, int sock, struct err *e);

/* The mounts of a sandbox (volume_mounts.c): cloned while the storage is mounted in our mount namespace; then
 * id-mapped for the sandbox; then attached inside the sandbox, with only its privileges. */
int volume_mounts_clone(struct engine *en, const struct engine_spec *spec, int *ret_fds, struct err *e);
int volume_mounts_map(const int *fds, uint32_t n, int userns_fd, struct err *e);
int volume_mounts_put(const struct engine_volume *v, const int *fds, uint32_t n, struct err *e);

/* CRIU's name of a volume: the volume's name and its index among the sandbox's mounts. */
#define VOLUME_EXTERNAL "vol-%s-%u"
#define VOLUME_DUMP_SIZE (ENGINE_PATH_SIZE * 2 + 64)

/* Formats the argument that makes CRIU skip the ith volume of a sandbox. CRIU wants its current mount point, since
 * directories above a mount can be renamed. mountinfo: of the sandbox's pid 1, from volume_mounts_read(). */
int volume_mounts_arg(const char *mountinfo, const struct engine_spec *spec, uint32_t i, char ret[VOLUME_DUMP_SIZE],
    struct err *e);
int volume_mounts_read(pid_t pid, char **ret, struct err *e);
