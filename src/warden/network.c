/* SPDX-License-Identifier: Apache-2.0 */
/* network: what a running sandbox may reach, changed or put back. */
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "warden/egress.h"
#include "warden/front.h"
#include "warden/policy.h"
#include "warden/records.h"
#include "warden/sandbox.h"
#include "warden/warden.h"

/* The engine told what a sandbox is to reach; policy NULL: all or nothing. */
static int enforce(struct sandbox *sb, bool no_internet, const struct held_policy *policy, struct err *e)
{
	struct engine_policy p;

	if (policy && policy_for_engine(policy, &p, e) < 0)
		return -e->no;
	return sb->w->ops->network(sb->w->engine, &sb->er, no_internet, policy ? &p : NULL, e);
}

int sandbox_enforce(struct sandbox *sb, struct err *e)
{
	return enforce(sb, sb->er.spec.no_internet, sb->policy, e);
}

/* The answer to whoever waits for the policy: a change of it, or the start that it came with. */
static void answer_waiting(struct sandbox *sb)
{
	if (sb->telling.front_seq) {
		front_ok(sb->w, sb->telling.life, sb->telling.front_seq);
		sb->telling.front_seq = 0;
	} else if (sb->seq && sb->state == SANDBOX_RUNNING) {
		front_ok(sb->w, sb->life, sb->seq);
		sb->seq = 0;
	}
}

void sandbox_told(struct sandbox *sb)
{
	sb->telling.seq = 0;
	answer_waiting(sb);
}

/* What was told before and not yet answered is overtaken by this. */
static void tell(struct sandbox *sb, uint32_t seq, bool had)
{
	if (sb->telling.seq)
		answer_waiting(sb);
	sb->telling.front_seq = seq;
	sb->telling.life = sb->w->life;
	egress_tell(sb, had);
}

int sandbox_network(struct sandbox *sb, uint32_t seq, bool no_internet, const void *policy, size_t n, struct err *e)
{
	bool had = held_policy_proxied(sb->policy);
	struct record rec = { .stage = RECORD_LIVE, .frozen = sb->frozen, .er = sb->er };
	struct err again;

	if (sb->er.spec.no_internet == no_internet && n == 0 && !sb->policy) {
		front_ok(sb->w, sb->w->life, seq);
		return 0;
	}
	rec.policy = n ? held_policy_new(policy, n) : NULL;
	if (n && !rec.policy)
		return err_set(e, ENOMEM, "out of memory");
	rec.er.spec.no_internet = no_internet;
	rec.er.spec.ruled = n > 0;
	if (enforce(sb, no_internet, rec.policy, e) < 0) {
		free(rec.policy);
		return -e->no;
	}
	if (record_write(sb->w->records_dir, &rec, e) < 0) {
		/* The next warden would go by the record: what it says and what is must not differ. */
		bool was = sb->er.spec.ruled;

		sb->er.spec.ruled = true;
		(void)enforce(sb, sb->er.spec.no_internet, sb->policy, &again);
		sb->er.spec.ruled = was;
		free(rec.policy);
		return -e->no;
	}
	free(sb->policy);
	sb->policy = rec.policy;
	sb->er.spec = rec.er.spec;
	tell(sb, seq, had);
	return 0;
}
