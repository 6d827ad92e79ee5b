/* SPDX-License-Identifier: Apache-2.0 */
/* criu: runs CRIU, in a root of its own.
 *
 * CRIU is newer than what the host's release has and brings its own libraries, so it lives in the tools' root,
 * entered by pivot_root in a mount namespace of its own (a chroot confuses it). Its /proc is that of the host,
 * since it works on processes by their pids there; but for a restore it shows each process only what that may
 * trace: to one that is being restored, this is its own sandbox and nothing else. What CRIU works on is put below
 * its /tmp:
 *
 *	/tmp/image	the directory of the image, always; restore: read-only
 *	/tmp/freezer	dump: the cgroup by which the sandbox is frozen
 *	/tmp/root	restore: the sandbox's root
 *	/tmp/dev	restore: the /dev that the host makes
 *	/tmp/init	restore: the program that is pid 1
 *	/tmp/view	restore: the directory with its view of the machine
 *	/tmp/vol0 ...	restore: its volumes
 *
 * Restored processes open by path, with CRIU's code, what they had open. Others can change the volumes meanwhile, so no
 * symbolic link is followed there: the mounts of volumes are nosymfollow, and the library below opens each path without
 * following any.
 *
 * It must be started by a process without a system call filter: the kernel lets no other suspend one. It is root, but
 * for two moments in which a library that is loaded into it (criu_preload.c) gives it the uid that owns the sandbox's
 * user namespace: what CRIU makes is then counted for that uid and not for root, and the kernel grants such a one every
 * power over the namespace, even those that we do not have ourselves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/engine.h"

#define CRIU_IMAGE "/tmp/image"
#define CRIU_FREEZER "/tmp/freezer"
#define CRIU_ROOT "/tmp/root"
#define CRIU_DEV "/tmp/dev"
#define CRIU_INIT "/tmp/init"
#define CRIU_VIEW "/tmp/view"
#define CRIU_HOOK "/tmp/hook"
#define CRIU_IDS "ids" /* in its /tmp */
#define CRIU_VOLUME "/tmp/vol%u"
#define CRIU_ARGS_MAX 64

enum criu_mount {
	MOUNT_IMAGE,
	MOUNT_FREEZER,
	MOUNT_ROOT,
	MOUNT_DEV,
	MOUNT_INIT,
	MOUNT_VIEW,
	MOUNT_VOLUME,
	CRIU_MOUNTS = MOUNT_VOLUME + ENGINE_VOLUMES_MAX,
};

struct cgroup_seat;

struct criu {
	/* for those who are restored: CRIU does not know of cookies of cores, so they get its own */
	bool own_core;
	const char *stage;        /* any directory; covered in CRIU's own mount namespace only */
	int tools, dev, run, tmp; /* mounts: its root, its /dev, /run and /tmp */
	int mounts[CRIU_MOUNTS];  /* cloned mounts; -1: not there */
	int image;                /* the directory of the image, for us */
	int inherit;              /* it has this, under the same number; -1: nothing */
	const char *log;          /* a file name in its /tmp */
	char ids[64];             /* restore: the file in the image that is covered by /tmp/ids; "": none */
	uid_t owner;
	bool restores;                  /* the library guards what it opens */
	const struct cgroup_seat *seat; /* where it is born, or NULL: as we are */
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
	    .pid = -1, \
	    .pidfd = -1 })

/* Clones the mounts, so it must be called before the caller leaves the mount namespace that they are in. tools_dir: the
 * tools' root; run_dir: see criu_prepare(); image_dir: becomes criu's, -1: none. */
int criu_open(struct criu *c, int tools_dir, int run_dir, int image_dir, bool read_only, struct err *e);
void criu_arg(struct criu *c, const char *arg);
int criu_spawn(struct criu *c, struct err *e);
int criu_wait(struct criu *c, int timeout_ms, struct err *e); /* an error of its says what its log says */
void criu_close(struct criu *c);

/* Once, of a directory on a tmpfs that all runs share as their /run: CRIU keeps there what it found out about the
 * kernel, which takes it 50 ms. */
int criu_prepare(int run_dir, struct err *e);

/* Has it find that out now, so that the first who is restored does not wait for it. */
int criu_learn(int tools_dir, int run_dir, const char *stage, struct err *e);

/* The reason in the text of a log: its first error that is not known to be harmless. */
void criu_reason(const char *log, char *ret, size_t size);

extern const char criu_preload[], criu_preload_end[];
