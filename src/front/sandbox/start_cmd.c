/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/start_cmd: atoll-build start, inside. */
#include "front/sandbox/start_cmd.h"

#include "front/front.h"
#include "front/sandbox/impl.h"

#define WAIT_MAX_S 50u /* clients wait a minute for an answer */

uint32_t sandbox_start_wait_s(const struct front *f)
{
	return f->link.opt.ready_timeout_s < WAIT_MAX_S ? f->link.opt.ready_timeout_s : WAIT_MAX_S;
}

struct init_build *start_cmd_run(struct front *f, const char *id, init_build_fn *fn, void *user)
{
	uint32_t wait_s = sandbox_start_wait_s(f);

	return init_build_new(&f->link, id, json_pack("[s,o]", "start", json_sprintf("%u", wait_s)),
	    (wait_s + 5) * 1000ull, fn, user);
}
