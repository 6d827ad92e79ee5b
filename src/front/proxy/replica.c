/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/replica: copies. */
#include "front/proxy/replica.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/link/links.h"
#include "front/record/veil.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"

void replica_facts_of(struct sandbox *sb, struct replica_facts *ret)
{
	sandbox_use_unref(sb->use);
	sb->use = must_alloc(sizeof *sb->use);
	sb->use->refs = 2;
	*ret = (struct replica_facts) {
		.env_vars = json_deep_copy(sb->spec.env_vars),
		.secrets = veiled_ref(sandbox_secrets(sb)),
		.use = sb->use,
	};
	memcpy(ret->id, sb->id, sizeof ret->id);
	memcpy(ret->team, sb->team, sizeof ret->team);
	memcpy(ret->key, sb->key, sizeof ret->key);
	memcpy(ret->envd_token, sb->envd_token, sizeof ret->envd_token);
	memcpy(ret->traffic_token, sb->traffic_token, sizeof ret->traffic_token);
}

void replica_facts_done(struct replica_facts *f)
{
	json_decref(f->env_vars);
	veiled_unref(f->secrets);
	sandbox_use_unref(f->use);
}

struct sandbox *replica_new(struct sandboxes *all, struct replica_facts *f)
{
	struct sandbox *sb = must_alloc(sizeof *sb);

	sb->all = all;
	sb->refs = 1; /* held by the table */
	sb->warm_fd = -1;
	sb->state = SANDBOX_RUNNING;
	LIST_INIT(&sb->waiters);
	LIST_INIT(&sb->links);
	share_init(&sb->share, all->link->loop);
	usage_init(&sb->usage, clock_mono_ms());
	box_init(&sb->box, all->link, f->id);
	memcpy(sb->id, f->id, sizeof sb->id);
	memcpy(sb->team, f->team, sizeof sb->team);
	memcpy(sb->key, f->key, sizeof sb->key);
	memcpy(sb->envd_token, f->envd_token, sizeof sb->envd_token);
	memcpy(sb->traffic_token, f->traffic_token, sizeof sb->traffic_token);
	sb->spec.env_vars = take_ptr(&f->env_vars);
	sb->secrets = take_ptr(&f->secrets);
	sb->use = take_ptr(&f->use);
	sandbox_table_put(all->table, sb);
	return sb;
}

void replica_end(struct sandbox *sb)
{
	sandbox_table_drop(sb->all->table, sb);
	sb->state = SANDBOX_DEAD; /* of this thread; it may be paused, say */
	sandbox_break_links(sb);
	sandbox_unref(sb);
}
