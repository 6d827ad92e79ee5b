/* SPDX-License-Identifier: Apache-2.0 */
/* oom: was it the kernel, for want of memory, that killed a process of ours?
 *
 * Inside there is no telling: the counter is in a file that sandboxes do not see. The front is told by the warden and
 * tells us (POST /atoll/oom), a moment after we have reaped the process. So the end of one that may have been killed
 * that way waits for word; but not if the kernel has killed nobody on the whole machine, which /proc/vmstat does
 * tell. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct http_req;
struct init;
struct timer;

#define STATUS_OOM 0x10000 /* in a status of waitpid(), where the kernel has nothing */
#define OOM_NAME "MEMORY_LIMIT"
#define OOM_TEXT_SIZE 160

struct oom {
	uint32_t told, claimed; /* kills that we heard of, and found a process for */
	uint64_t told_ms;
	uint64_t limit_mb;
	uint64_t on_machine; /* kills that have been looked into */
	struct timer *timer; /* while somebody waits */
};

enum oom_verdict { OOM_NO, OOM_YES, OOM_WAIT };

void oom_open(struct init *in);

/* OOM_WAIT: procs_judge() and kernels_judge() will be called, and ask again; with `last` there is no more waiting. */
enum oom_verdict oom_judge(struct init *in, int status, bool last);

void oom_text(const struct init *in, int status, char out[OOM_TEXT_SIZE]); /* for whoever waited for the process */
void oom_post(struct init *in, struct http_req *rq);
