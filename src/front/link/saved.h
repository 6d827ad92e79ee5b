/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/saved: asks the warden to delete the saved state of a sandbox; retries while the warden is busy. */
#pragma once

#include <stdint.h>

struct links;

/* What is saved of a sandbox or template. The values are written to the store: never renumber. */
#define SAVED_DISK 1u
#define SAVED_MEMORY 2u
#define SAVED_START 8u /* of a template without memory: the start command has to be run */
/* The sandbox was paused, or is to be resumed, without its memory: if the warden still has it, it is to be killed. */
#define SAVED_NO_RAM 4u
#define SAVED_ENGINE_SHIFT 16 /* 4 bits, with SAVED_MEMORY: enum engine_kind */
#define SAVED_ENGINE (15u << SAVED_ENGINE_SHIFT)

static inline uint32_t saved_engine(uint32_t what)
{
	return (what & SAVED_ENGINE) >> SAVED_ENGINE_SHIFT;
}

void saved_delete(struct links *l, const char *name);
void saved_free(struct links *l); /* the next front deletes what is not deleted yet, as it has no owner */
