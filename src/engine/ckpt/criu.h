/* SPDX-License-Identifier: Apache-2.0 */
/* criu: runs CRIU, in a root directory of its own.
 *
 * CRIU is newer than the host's package and brings its own libraries. It therefore lives in the tools' root,
 * entered by pivot_root in a mount namespace of its own (a chroot confuses it). It has the host's /proc, since it
 * addresses processes by their host pids. During a restore that /proc shows each process only what the process may
 * trace: for a process being restored, its own sandbox and nothing else. What CRIU works on is mounted below its
 * /tmp:
 *
 *	/tmp/image	the checkpoint's directory, always; restore: read-only
 *	/tmp/freezer	dump: the cgroup by which the sandbox is frozen
 *	/tmp/root	restore: the sandbox's root
 *	/tmp/dev	restore: the /dev that the host makes
 *	/tmp/init	restore: the program that is pid 1
 *	/tmp/view	restore: the directory with its view of the machine
 *	/tmp/shm	restore: an empty /dev/shm
 *	/tmp/vol0 ...	restore: its volumes
 *
 * Restored processes reopen their files by path, with CRIU's code. Other sandboxes can change the volumes
 * meanwhile, so no symbolic link may be followed there: the mounts of volumes are nosymfollow, and the library
 * below opens each path without following any link.
 *
 * CRIU runs a script at each of its stages. There is no script: the library takes the place of the exec and, at two of
 * the stages, asks the process that runs CRIU (the pipes /tmp/ask and /tmp/answer) and waits for its answer.
 *
 * CRIU must be started by a process without a seccomp filter: the kernel does not let any other process suspend
 * one. It runs as root, except at two points where a preloaded library (criu_preload.c) switches to the uid that
 * owns the sandbox's user namespace. What CRIU creates there is charged to that uid and not to root, and the
 * kernel grants that uid every capability over the namespace, even capabilities that we do not have ourselves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/ckpt/criu_ask.h"
#include "engine/engine.h"

#define CRIU_IMAGE "/tmp/image"
#define CRIU_FREEZER "/tmp/freezer"
#define CRIU_ROOT "/tmp/root"
#define CRIU_DEV "/tmp/dev"
#define CRIU_INIT "/tmp/init"
#define CRIU_VIEW "/tmp/view"
#define CRIU_SHM "/tmp/shm"
#define CRIU_IDS "ids" /* in CRIU's /tmp */
#define CRIU_VOLUME "/tmp/vol%u"
#define CRIU_PROVEN "/run/proven" /* libraries for restores; missing if CRIU does not start with them */
#define CRIU_ARGS_MAX 64

enum criu_mount {
	MOUNT_IMAGE,
	MOUNT_FREEZER,
	MOUNT_ROOT,
	MOUNT_DEV,
	MOUNT_INIT,
	MOUNT_VIEW,
	MOUNT_SHM,
	MOUNT_VOLUME,
	CRIU_MOUNTS = MOUNT_VOLUME + ENGINE_VOLUMES_MAX,
};

struct cgroup_seat;

struct criu {
	/* Give restored processes a core scheduling cookie: CRIU does not know of cookies, so they inherit its
	 * own. */
	bool own_core;
	const char *stage;        /* any directory; covered only in CRIU's own mount namespace */
	int tools, dev, run, tmp; /* mounts: CRIU's root, and its /dev, /run and /tmp */
	int mounts[CRIU_MOUNTS];  /* cloned mounts; -1: absent */
	int image;                /* the checkpoint's directory, for our own use */
	int inherit;              /* an fd that CRIU inherits under the same number; -1: none */
	const char *log;          /* a file name in CRIU's /tmp */
	char ids[64];             /* restore: the file of the checkpoint that /tmp/ids is mounted over; "": none */
	uid_t owner;
	bool restores;                  /* the preloaded library checks what CRIU opens */
	const char *libraries;          /* where CRIU looks for its libraries first; NULL: nowhere else */
	const struct cgroup_seat *seat; /* the cgroups that CRIU starts in; NULL: ours */
	int sock;                       /* between criu_fork() and criu_go() */
	uint32_t known;                 /* bits: the mounts that existed at the fork */
	const char *argv[CRIU_ARGS_MAX];
	size_t n_args;
	pid_t pid;
	int pidfd;
};

#define CRIU_NONE \
	((struct criu) { .tools = -1, \
	    .dev = -1, \
	    .run = -1, \
	    .tmp = -1, \
	    .mounts = { [0 ... CRIU_MOUNTS - 1] = -1 }, \
	    .image = -1, \
	    .inherit = -1, \
	    .sock = -1, \
	    .pid = -1, \
	    .pidfd = -1 })

/* Clones the mounts, so it must be called before the caller leaves the mount namespace that they are in.
 * tools_dir: the tools' root; run_dir: see criu_prepare(); image_dir: criu takes ownership; -1: none. */
int criu_open(struct criu *c, int tools_dir, int run_dir, int image_dir, bool read_only, struct err *e);
void criu_arg(struct criu *c, const char *arg);
/* Forks the process that becomes CRIU. From then on only mounts may be added. */
int criu_fork(struct criu *c, struct err *e);
int criu_go(struct criu *c, struct err *e);    /* passes those mounts and lets it become CRIU */
void criu_drop(struct criu *c);                /* instead of criu_go(), or after it has failed; idempotent */
int criu_spawn(struct criu *c, struct err *e); /* both at once */
int criu_wait(struct criu *c, int timeout_ms, struct err *e); /* on failure, e holds the reason from CRIU's log */
void criu_close(struct criu *c);

/* Called once for a directory on a tmpfs that all runs share as their /run: CRIU caches its kernel feature checks
 * there, which take 50 ms. */
int criu_prepare(int run_dir, struct err *e);

/* Fills that cache now, so that the first restore does not wait for it, and finds out whether CRIU starts without the
 * libraries that a restore has no use for (criu_unused.c). If so, later restores do without. */
int criu_learn(int tools_dir, int run_dir, const char *stage, struct err *e);

/* Extracts the reason from the text of a log: the first error that is not known to be harmless. */
void criu_reason(const char *log, char *ret, size_t size);

extern const char criu_preload[], criu_preload_end[], criu_unused[], criu_unused_end[];
