/* SPDX-License-Identifier: Apache-2.0 */
/* oom: finds out whether the kernel's OOM killer killed a process.
 *
 * The sandbox cannot see this itself: the counter is in a cgroup file that it has no access to. The warden
 * notifies the front, and the front notifies init (POST /atoll/oom) shortly after init has reaped the process. So
 * the end of a process that may have been an OOM kill is held back until that notice. It is not held back if
 * /proc/vmstat shows that the kernel has killed no process on the whole machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct http_req;
struct loop;
struct timer;

#define STATUS_OOM 0x10000 /* flag in a waitpid() status, in a bit that the kernel does not use */
#define OOM_NAME "MEMORY_LIMIT"
#define OOM_TEXT_SIZE 160

struct oom {
	struct loop *loop;
	void (*judge)(void *user, bool last); /* asks oom_judge() again for every end that is held back */
	void *user;
	uint32_t told, claimed; /* kills that were reported to us, and those attributed to a process */
	uint64_t told_ms;
	uint64_t limit_mb;
	uint64_t on_machine; /* the machine's kill count when it was last examined */
	bool is_ours;        /* no kernel ends processes, only init does, which says so with oom_ending() */
	struct timer *timer; /* armed while the end of a process is held back */
};

enum oom_verdict { OOM_NO, OOM_YES, OOM_WAIT };

void oom_open(struct oom *o, struct loop *loop, void (*judge)(void *user, bool last), void *user);

/* We are about to end a process because the sandbox is at this limit of its memory. */
void oom_ending(struct oom *o, uint64_t limit_bytes);

/* OOM_WAIT: judge() will be called and ask again. With last, the answer is never OOM_WAIT. */
enum oom_verdict oom_judge(struct oom *o, int status, bool last);

void oom_text(const struct oom *o, int status, char out[OOM_TEXT_SIZE]); /* error text for the client */
void oom_post(struct oom *o, struct http_req *rq);
