/* SPDX-License-Identifier: Apache-2.0 */
/* records_v3: records as the first versions wrote them. */
#include "warden/records_v3.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct record_file_v3) == 224, "as it was written");

int record_decode_v3(const void *p, size_t n, struct record *ret)
{
	const char *policy = (const char *)p + sizeof(struct record_file_v3);
	struct record_file_v3 f;

	if (n < sizeof f)
		return -EBADMSG;
	memcpy(&f, p, sizeof f);
	uint64_t sum = record_sum(record_sum(RECORD_SUM_BEGIN, &f, offsetof(struct record_file_v3, sum)), policy,
	    n - sizeof f);

	if (f.size != n || f.sum != sum || f.frozen > 1 || f.ruled != (n > sizeof f))
		return -EBADMSG;
	struct record r = { .stage = (enum record_stage)f.stage, .frozen = f.frozen };
	struct engine_spec *sp = &r.er.spec;

	memcpy(sp->id, f.id, sizeof sp->id);
	memcpy(sp->template_key, f.template_key, sizeof sp->template_key);
	memcpy(sp->from, f.from, sizeof sp->from);
	memcpy(r.er.boot_id, f.boot_id, sizeof r.er.boot_id);
	sp->slot = f.slot;
	sp->no_internet = f.no_internet;
	sp->ruled = f.ruled;
	sp->limits = (struct engine_limits) {
		.mem_bytes = f.mem_bytes,
		.disk_bytes = f.disk_bytes,
		.cpu_permille = f.cpu_permille,
		.pids = f.pids,
	};
	r.er.pid = f.pid;
	r.er.pid_start = f.pid_start;
	r.er.started_wall_ms = f.started_wall_ms;
	r.er.extra_bytes = f.extra_bytes;
	if (!record_is_sound(&r))
		return -EBADMSG;
	int no = record_policy(policy, n - sizeof f, &r.policy);

	if (no == 0)
		*ret = r;
	return no;
}
