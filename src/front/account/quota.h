/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/quota: how much of the server a team or a key may use, and how much it has used today.
 *
 * There is none unless an admin sets it. Sandboxes of whoever is beyond what a day allows are paused, and nothing of
 * theirs is made or resumed until the next day (UTC). What is used is known by samples, some seconds late, and by the
 * last count of each sandbox. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/msg.h"
#include "store/quotas.h"

struct accounts;
struct limits_range;

struct quota {                 /* 0: none */
	int64_t max_sandboxes; /* at once; of keys only, teams have it of old */
	int64_t creates_per_min;
	int64_t cpu_s_per_day, egress_mb_per_day;
	struct msg_limits maxima; /* of each of its sandboxes */
};

#define QUOTA_MINUTE 60

struct tally {
	struct quota_use use;        /* of the day in it */
	bool dirty;                  /* the store does not know yet */
	uint64_t made_s;             /* up to when made[] is counted */
	uint32_t made[QUOTA_MINUTE]; /* sandboxes, by second */
};

struct quota_hit {                /* why not */
	const char *scope, *what; /* "team" or "key"; the field of the quota */
	int64_t limit, used;
	uint32_t retry_s; /* when it is worth another try; 0: that depends on others */
};

/* {"createsPerMinute"?, "cpuSecondsPerDay"?, "egressMBPerDay"?, "limits"?, "maxSandboxes"? (of a key)}: absent stays,
 * null is none. */
int quota_read(const json_t *o, bool of_key, const struct msg_limits *most, struct quota *q, struct err *e);
json_t *quota_json(const struct quota *q, bool of_key); /* null if it is none at all */
bool quota_is_none(const struct quota *q);
json_t *tally_json(struct tally *t, uint64_t now_wall_ms);

void tally_create(struct tally *t, uint64_t now_s);
uint32_t tally_creates(struct tally *t, uint64_t now_s); /* in the last minute */
void tally_add(struct tally *t, uint64_t day, uint64_t cpu_ms, uint64_t sent_bytes);

int quota_open(struct accounts *a, struct err *e); /* after the keyring */
int quota_set(struct accounts *a, bool of_key, const char *id, struct quota *at, const struct quota *q, struct err *e);
void quota_move(struct accounts *a, const char *from_key, const char *to_key); /* it was rotated */

/* May one more be made, or a paused one go on, for that team and key ("": none)? -EDQUOT */
int quota_check_create(struct accounts *a, const char *team, const char *key, struct quota_hit *ret);
int quota_check_resume(struct accounts *a, const char *team, const char *key, struct quota_hit *ret);
void quota_note_create(struct accounts *a, const char *team, const char *key);
void quota_text(const struct quota_hit *h, struct err *ret);
void quota_narrow(const struct accounts *a, const char *team, const char *key, struct limits_range *range);

/* On the account of today. */
void quota_charge(struct accounts *a, const char *team, const char *key, uint64_t cpu_ns, uint64_t sent_bytes);
bool quota_any_daily(const struct accounts *a);
void quota_tick(struct accounts *a); /* once a second */
void quota_save(struct accounts *a);
