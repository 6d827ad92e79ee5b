/* SPDX-License-Identifier: Apache-2.0 */
/* ns: the engine's state, shared by the files that fill its table of functions and by the backends. */
#pragma once

#include "base/boot_id.h"
#include "engine/cgroup/cgroup.h"
#include "engine/ckpt/ckpt.h"
#include "engine/ckpt/image.h"
#include "engine/engine.h"
#include "engine/helper.h"
#include "engine/holder.h"
#include "engine/proc.h"
#include "engine/reclaim/reclaim.h"
#include "engine/seccomp/seccomp.h"
#include "engine/view/view.h"
#include "engine/zygote/zygote.h"

struct gvisor;
struct storage;

enum start_stage { /* the stages of a start that the builder measures */
	STAGE_CGROUP,
	STAGE_HOLDER,
	STAGE_FORK,
	STAGE_DISK,
	STAGE_DEV,
	STAGE_BORN, /* waiting for the new pid 1 */
	STAGE_LINK,
	STAGE_ROOT,
	STAGE_SEATED, /* waiting for the move into the cgroups */
	STAGE_INIT,   /* waiting for init to listen */
	STAGE_COUNT,
};

extern const char *const start_stage_name[STAGE_COUNT];

struct start_times {
	uint64_t us[STAGE_COUNT];
};

struct engine {
	struct engine_config cfg;
	char boot_id[BOOT_ID_SIZE];
	char *private_dir; /* RUN/private: our own tmpfs with device nodes, init's copy, the stage directory and
			    * the mount point of the storage */
	char *storage_dir, *stage_dir;
	int private_fd, holders_fd, zygotes_fd, templates_fd, init_fd, netns_fd, nft_fd;
	int bases_fd;                    /* -1: without storage */
	const char *own[ENGINE_OWN_MAX]; /* keys of the templates that the server has built */
	size_t n_own;
	int tools_fd, criu_run_fd; /* -1: no CRIU */
	uint32_t mtu;
	struct cgroup_tree *cgroups;
	uint64_t all_bytes, all_bytes_ms; /* memory of all sandboxes, and when it was read */
	struct storage *storage;
	struct view view;
	struct helper guard, pairs, reclaimer;
	struct reclaim reclaim;
	bool pairs_over; /* that helper has exited, and is yet to be reaped */
	struct ckpt ckpt;
	struct image_init init_now; /* in atoll-ckpt only */
	struct gvisor *gvisor;      /* of that backend; NULL: it is not open */
	struct seccomp_filter filter;
	struct holder_config holder;
	struct zygote_config zygote;
	struct start_times *times; /* where the builder writes its times; NULL: nowhere */
};

int ns_start(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
    struct engine_record *ret, int *ret_pidfd, struct err *e);
struct cgroup_limits ns_cgroup_limits(const struct engine *en, uint32_t slot, const struct engine_limits *l,
    uint64_t extra_bytes);

/* Sets the sandbox's egress limits in the firewall. again: what it has sent already counts. */
int ns_cap_egress(struct engine *en, const struct engine_spec *spec, const struct engine_limits *l, bool again,
    struct err *e);
/* Functions of the engine's table (ns_limits.c). */
int ns_freeze(struct engine *en, const struct engine_record *r, bool on, struct err *e);
int ns_limit(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e);
int ns_hurry(struct engine *en, const struct engine_record *r, bool on);
/* Memory in swap that counts as its own: what is not the swap that it may have in addition (swapMB). */
uint64_t ns_reclaimed(const struct cgroup_usage *us, const struct engine_limits *l);
bool ns_is_capped(const struct engine_limits *l);         /* whether its egress is limited */
bool ns_is_own(const struct engine *en, const char *key); /* whether the server has built that template */
int ns_reap(struct engine *en, const struct engine_record *r, struct err *e);
int ns_connect(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e);
int ns_bell(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e);
int ns_dial(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
    struct err *e);
int ns_seed(struct engine *en, const struct engine_record *r, int pidfd, int bell, int (*made)(void *arg, int seed),
    void *arg, struct err *e);
int ns_kill(struct engine *en, const struct engine_record *r, int pidfd, struct err *e);
int ns_usage(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e);

/* ns_idle.c. empty: no sandbox lives; all: none is left. */
int ns_open_cgroups(struct engine *en, bool empty, struct err *e);
int ns_open_reclaim(struct engine *en, struct err *e);
void ns_tick_reclaim(struct engine *en);
void ns_close_reclaim(struct engine *en, bool all);

/* Writes the times of all later starts to *times (memory shared with the builders); for measurements. */
void engine_ns_measure(struct engine *en, struct start_times *times);
