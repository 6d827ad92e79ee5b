/* SPDX-License-Identifier: Apache-2.0 */
/* pair: a user and a network namespace of a sandbox, made before the sandbox (docs/internals/prepared-networks.md).
 *
 * A network namespace belongs for ever to the user namespace that it was made in, so the two are made together, in
 * namespace Z of the template and by the slot's own uid. Both exist as long as their fds: no process holds them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"

struct slot;

/* Makes one, with link, addresses, routes and sysctls. The template must have a holder. Blocks; for a child of the
 * warden. */
int pair_make(struct engine *en, const char *template_key, uint32_t slot, struct engine_pair *ret, struct err *e);

/* Whether it was made for that slot, in the user namespace z_fd. If the holder was replaced meanwhile it was not, and
 * neither the template's zygote nor its builders have power over it. */
bool pair_fits(const struct engine_pair *p, const struct slot *s, int z_fd);

/* Functions of the engine's table: the helper that makes pairs. */
int pair_prepare(struct engine *en, const char *template_key, uint32_t slot, int *ret_fd, struct err *e);
int pair_prepared(struct engine *en, struct engine_pair *ret, struct err *e);
void pair_kill(struct engine *en);

void pair_stop(struct engine *en); /* kills the helper and waits for its exit */
