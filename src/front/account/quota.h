/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/quota: how much of the server a team or a key may use, and how much it has used today.
 *
 * There are no quotas unless an admin sets them. When a daily quota is exhausted, the running sandboxes of that
 * team or key are paused, and none is created or resumed until the next day (UTC). The use is known from samples,
 * a few seconds late, and from the final report of each sandbox. */
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
	int64_t max_sandboxes; /* at the same time; for keys only: teams have their own setting */
	int64_t creates_per_min;
	int64_t cpu_s_per_day, egress_mb_per_day;
	struct msg_limits maxima; /* for each sandbox */
	int64_t engine;           /* enum engine_kind + 1; 0: that of the team, or of the server */
	bool require_engine;      /* no sandbox has another engine */
};

struct engine_rule {
	uint32_t kind; /* of sandboxes whose client names none */
	bool required;
};

#define QUOTA_MINUTE 60

struct tally {
	struct quota_use use;        /* of the day stored in it */
	bool dirty;                  /* not written to the store yet */
	uint64_t made_s;             /* second up to which made[] is valid */
	uint32_t made[QUOTA_MINUTE]; /* creations per second */
};

struct quota_hit {                /* which quota refuses a request */
	const char *scope, *what; /* "team" or "key"; the name of the field */
	int64_t limit, used;
	uint32_t retry_s; /* seconds until a retry makes sense; 0: not known */
};

/* {"createsPerMinute"?, "cpuSecondsPerDay"?, "egressMBPerDay"?, "limits"?, "maxSandboxes"? (key only)}: an absent
 * field is unchanged, null removes the quota. */
int quota_read(const json_t *o, bool of_key, const struct msg_limits *most, struct quota *q, struct err *e);
json_t *quota_json(const struct quota *q, bool of_key); /* null if no quota is set */
bool quota_is_none(const struct quota *q);
json_t *tally_json(struct tally *t, uint64_t now_wall_ms);

void tally_create(struct tally *t, uint64_t now_s);
uint32_t tally_creates(struct tally *t, uint64_t now_s); /* in the last minute */
void tally_add(struct tally *t, uint64_t day, uint64_t cpu_ms, uint64_t sent_bytes);

int quota_open(struct accounts *a, struct err *e); /* to be called after keyring_open() */
int quota_set(struct accounts *a, bool of_key, const char *id, struct quota *at, const struct quota *q, struct err *e);
void quota_move(struct accounts *a, const char *from_key, const char *to_key); /* the key was rotated */

/* Whether a sandbox may be created, or a paused one resumed, for that team and key ("": none). Returns -EDQUOT if
 * not. */
int quota_check_create(struct accounts *a, const char *team, const char *key, struct quota_hit *ret);
int quota_check_resume(struct accounts *a, const char *team, const char *key, struct quota_hit *ret);
void quota_note_create(struct accounts *a, const char *team, const char *key);
void quota_text(const struct quota_hit *h, struct err *ret);
/* Of that key ("": none) and team, with the settings of the server. */
struct engine_rule quota_engine(const struct accounts *a, const char *team, const char *key);
void quota_narrow(const struct accounts *a, const char *team, const char *key, struct limits_range *range);

/* Adds to today's use. */
void quota_charge(struct accounts *a, const char *team, const char *key, uint64_t cpu_ns, uint64_t sent_bytes);
bool quota_any_daily(const struct accounts *a);
void quota_tick(struct accounts *a); /* once a second */
void quota_save(struct accounts *a);
