/* SPDX-License-Identifier: Apache-2.0 */
/* engine: starts, freezes and kills sandboxes. It is the only interface between the warden and the isolation of
 * sandboxes.
 *
 * There is one struct engine per warden. It holds what sandboxes of all kinds share: slots, addresses, firewall,
 * cgroups, disks and volumes. What differs between the kinds (base/engines.h) is in their backends
 * (engine/backend.h). To the warden a sandbox is a pidfd of its pid 1 (or of the process that stands for it), a slot
 * of the instance (which determines uids, address and names), and a plain record that survives a restart.
 *
 * start() blocks for some milliseconds, so it is called in a child process of the warden (the builder), never in
 * the warden's loop; the same holds for warm() and for the slow parts of reap(). The other functions are quick and
 * are called in the loop, unless noted below. The record that start() fills is sent to the warden through a pipe,
 * so it contains no pointers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/engines.h"
#include "base/err.h"
#include "base/inet.h"

#define ENGINE_ID_SIZE 24
#define ENGINE_KEY_SIZE 33
#define ENGINE_NAME_SIZE 24 /* name of a snapshot, checkpoint or volume: [a-z0-9]+ */
#define ENGINE_PATH_SIZE 232
#define ENGINE_VOLUMES_MAX 8
#define ENGINE_TOKEN_SIZE 32

struct engine_limits {
	uint64_t mem_bytes;
	uint64_t disk_bytes;
	uint32_t cpu_permille;
	uint32_t pids;
	uint64_t swap_bytes;                               /* in addition to mem_bytes */
	uint64_t io_bytes_s, egress_bytes, egress_bytes_s; /* 0: no limit */
	uint32_t io_ops_s;                                 /* 0: no limit */
	uint32_t open_files;                               /* per process */
};

struct engine_volume {
	char name[ENGINE_NAME_SIZE];
	char path[ENGINE_PATH_SIZE]; /* mount point inside the sandbox; absolute and normalized */
};

struct engine_spec { /* what to start; checked by the warden */
	char id[ENGINE_ID_SIZE];
	char template_key[ENGINE_KEY_SIZE];
	char from[ENGINE_NAME_SIZE]; /* start(): name of the snapshot that the disk is copied from; "": an empty
				      * disk */
	uint32_t slot;               /* slot of the instance that the sandbox takes */
	uint32_t kind;               /* enum engine_kind */
	uint32_t needs;              /* ENGINE_NEEDS_*; 0 if its kernel is the host's */
	bool no_internet;
	/* The sandbox has its own policy in the firewall: network() is called before start(). */
	bool ruled;
	struct engine_limits limits;
	uint32_t n_volumes;
	struct engine_volume volumes[ENGINE_VOLUMES_MAX]; /* mounted in this order, because one may lie below
							   * another */
};

/* A user namespace and a network namespace in it, made before the sandbox for one slot of one template: link,
 * addresses, routes and sysctls are set. They exist as long as these fds are open. A pair serves one start at most,
 * whether that succeeds or not. */
struct engine_pair {
	int user, net;
};

#define ENGINE_PAIR_NONE ((struct engine_pair) { -1, -1 })

#define ENGINE_NETS_MAX 256
#define ENGINE_PORTS_MAX 64

struct engine_net {
	uint32_t ip;               /* host byte order */
	uint16_t port_lo, port_hi; /* 0 to 65535: all ports, and protocols without ports */
	uint8_t len;               /* prefix length */
	bool allow;
};

struct engine_ports {
	uint16_t lo, hi;
};

/* What a sandbox may reach, as far as a firewall can decide. Nets that allow are matched first, then nets that
 * refuse; everything else is allowed, or refused if deny_all is set. */
struct engine_policy {
	bool deny_all;    /* refuse what no net allows */
	bool no_dns;      /* refuse DNS too: a query can carry any data out */
	bool all_through; /* allowed nets do not bypass the proxy */
	uint32_t n_nets, n_ports;
	struct engine_net nets[ENGINE_NETS_MAX];
	struct engine_ports ports[ENGINE_PORTS_MAX]; /* TCP to these ports is diverted to the host's proxy, which
						      * decides */
};

struct engine_record { /* a running sandbox; fixed-size plain data, since it is sent through pipes */
	struct engine_spec spec;
	int32_t pid;        /* pid of its pid 1 in the host's pid namespace */
	uint64_t pid_start; /* field 22 of /proc/PID/stat; together with boot_id it detects a reused pid */
	char boot_id[40];
	uint64_t started_wall_ms;
	/* Added to the memory limit: a restored sandbox has private copies of pages that it shared before. */
	uint64_t extra_bytes;
	/* Opens a connection to init where the kernel inside is not the host's (base/preamble.h); otherwise zeros. */
	uint8_t token[ENGINE_TOKEN_SIZE];
};

struct engine_usage {
	uint64_t mem_bytes, mem_cache_bytes, cpu_ns, disk_bytes;
	/* Memory of all sandboxes and zygotes together, at most a second old; 0: unknown. */
	uint64_t all_bytes;
	uint64_t sent_bytes, received_bytes;
	uint32_t pids, oom_kills;
};

#define ENGINE_REFUSALS_MAX 256 /* per call */

struct engine_refusal { /* a packet of a sandbox that the firewall refused */
	uint32_t slot;
	uint32_t ip; /* destination */
	uint16_t port;
	uint8_t proto; /* IPPROTO_TCP or IPPROTO_UDP */
};

struct engine_room {        /* of the host; 0: unknown, or absent */
	uint64_t mem_bytes; /* used by all sandboxes together */
	uint64_t pids, pids_used;
	uint64_t storage_bytes, storage_free_bytes, storage_grow_bytes;
};

struct engine_image { /* result of checkpoint() */
	uint64_t bytes;
	uint64_t dump_us, total_us; /* time until CRIU finished; time until everything was on disk */
};

#define ENGINE_OWN_MAX 8

struct engine_config {          /* the instance; the strings live as long as the engine */
	uint32_t instance;      /* 0..15 */
	uint32_t max_sandboxes; /* slots 0 to max_sandboxes - 1; at most slot_usable() */
	const char *state_dir, *run_dir, *cache_dir;
	const char *init_path; /* the atoll-init binary */
	const char *tools_key; /* template key of the root directory that holds CRIU; NULL or "": no CRIU */
	/* Keys of the server's own templates, terminated by NULL. Only these can have a zygote. */
	const char *own_keys[ENGINE_OWN_MAX];
	uint64_t storage_bytes, storage_max_bytes;
	bool no_storage;                      /* run without the btrfs storage: no disk limits */
	uint32_t cpu_weight;                  /* of all sandboxes together, relative to everything else on the
					       * host; 0: 100 */
	uint64_t mem_total_bytes;             /* of all sandboxes together; 0: the host's memory minus a reserve */
	bool keep_idle;                       /* the memory of idle sandboxes is not reclaimed */
	bool idle_to_disk;                    /* it may be, also if the host's swap is on a disk */
	uint32_t idle_after_s;                /* without use of a processor */
	uint64_t idle_zram_bytes;             /* size of the server's own compressed swap device; 0: none */
	const struct inet_range *open_ranges; /* private ranges that sandboxes may reach */
	size_t n_open_ranges;
	/* uid of the proxy, which connects on behalf of sandboxes and must not reach more than they may; 0: no
	 * proxy */
	uid_t egress_uid;
	uint16_t proxy_port;             /* on the gateway address */
	uint16_t names_port, names_door; /* see engine/net/nft.h */
	bool core_scheduling;            /* used where the kernel supports it: engine/core.h */
	/* New sandboxes see the host's /proc and run on all of its processors: engine/view/view.h. */
	bool no_view;
	bool tell_refusals; /* log refused system calls through the kernel's audit system; set if a process reads
			     * them */
};

struct engine;

#define ENGINE_COLD 1
#define ENGINE_NEVER 1
#define ENGINE_GREET 1
#define ENGINE_OOM_PRIORITY 1
#define ENGINE_VOLUME_PLACES 40

struct engine_ops {
	const char *name;

	/* Called once at start: sets up storage, parent cgroups and network tables. After a crash of an earlier
	 * warden, sandboxes may still be running; their records are passed as live, so that nothing of theirs is
	 * disturbed. Of these, sandboxes with a policy reach nothing until network() is called for them. Must be
	 * called in the warden's private mount namespace. */
	int (*open)(const struct engine_config *cfg, const struct engine_record *live, size_t n_live,
	    struct engine **ret, struct err *e);

	/* Called in the warden before start() and restore(): creates the parent cgroups again if they have been
	 * removed from outside. */
	int (*mend)(struct engine *en, struct err *e);

	/* Called in a child: makes the sandbox. On failure, everything made so far is removed. On success, *ret
	 * and *ret_pidfd are set and init is listening. Returns 0, or ENGINE_COLD if the sandbox started without
	 * what warm() prepares. pair: prepared for its slot and template; without one, or if it does not fit, start()
	 * makes the namespaces itself. */
	int (*start)(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
	    struct engine_record *ret, int *ret_pidfd, struct err *e);

	/* A helper process makes pairs, one at a time. All three return at once, and all may be NULL.
	 *
	 * prepare(): asks for a pair, for a slot that nothing else uses until the result is there; starts the helper
	 * if there is none. *ret_fd becomes readable with the result, and stays the engine's. prepared(): takes the
	 * result. -EAGAIN: there is none yet. unprepare(): kills a helper that takes too long; prepared() then fails
	 * with -EPIPE when it has exited.
	 *
	 * -EPIPE of either: the helper has exited, and the next prepare() or tick() closes *ret_fd, which must not be
	 * watched any longer. Another error: the pair could not be made, and nothing of it is left. */
	int (*prepare)(struct engine *en, const char *template_key, uint32_t slot, int *ret_fd, struct err *e);
	int (*prepared)(struct engine *en, struct engine_pair *ret, struct err *e);
	void (*unprepare)(struct engine *en);

	/* Opens a pidfd of the record's process if it still exists. -ESRCH: it is gone (call reap()). */
	int (*adopt)(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e);

	/* Why this host cannot have sandboxes of that kind; NULL: it can. */
	const char *(*missing)(struct engine *en, uint32_t kind);

	/* Opens a stream to init. 0: it may be used at once. ENGINE_GREET: it is still connecting, and greet() has
	 * to be called when it is writable. */
	int (*connect)(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e);
	/* Both may be NULL. bell(): opens a non-blocking socket that becomes readable when a process of the sandbox
	 * wants a seed. seed(): called in a child then: makes one for its pid 1, if that has rung (-EAGAIN: it has
	 * not). made() gets a pidfd of the seed, which it takes over, before the seed may do anything; it returns 0 or
	 * -errno. */
	int (*bell)(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e);
	int (*seed)(struct engine *en, const struct engine_record *r, int pidfd, int bell,
	    int (*made)(void *arg, int seed), void *arg, struct err *e);
	/* Opens a non-blocking TCP socket that is connected, or connecting, to that port on the sandbox's
	 * loopback. ENGINE_GREET: as above. */
	int (*dial)(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
	    struct err *e);
	/* Goes on with a socket of connect() (port 0) or dial(); *sent is false before the first call. 0: it may be
	 * used. -EAGAIN: call again when it is readable. Another error: the connection has failed. */
	int (
	    *greet)(struct engine *en, const struct engine_record *r, int fd, uint16_t port, bool *sent, struct err *e);
	/* on: -EAGAIN if some processes still run; call again in a few ms, or with on == false to give up. Off:
	 * -EAGAIN if a checkpoint() begun by an earlier warden still needs the sandbox frozen; call again. */
	int (*freeze)(struct engine *en, const struct engine_record *r, bool on, struct err *e);
	/* Sets what the sandbox may reach from now on. With p NULL and no_internet false that is every address
	 * that is not private. The change is atomic. The call reads all of the host's firewall, so it is made in a
	 * child, also before start(). Only a warden that takes over running sandboxes calls it directly. */
	int (*network)(struct engine *en, const struct engine_record *r, bool no_internet,
	    const struct engine_policy *p, struct err *e);

	/* Changes all limits except open_files; r has the old ones. The call may wait for memory to be written
	 * out, so it is made in a child. -EBUSY: the sandbox uses more memory than the new limit. On failure the
	 * old limits stay in force. */
	int (*limit)(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e);

	/* Opens an fd that reports when the kernel has killed a process of the sandbox because of its memory limit,
	 * or is about to; usage() returns the count. Returns 0 if the fd becomes readable then, or
	 * ENGINE_OOM_PRIORITY if it reports EPOLLPRI until it is read from offset 0; reading fails once the
	 * sandbox is gone. Closing the fd never waits. */
	int (*oom_watch)(struct engine *en, const struct engine_record *r, int *ret_fd, struct err *e);

	/* on: removes the sandbox's CPU quota; off: sets it again. Quick. Returns -errno. */
	int (*hurry)(struct engine *en, const struct engine_record *r, bool on);

	/* Sends the kill and returns; the pidfd reports the exit. With pidfd -1 (none exists because a builder
	 * died), every process in the sandbox's cgroup is killed, and reap() reports the exit. */
	int (*kill)(struct engine *en, const struct engine_record *r, int pidfd, struct err *e);
	int (*usage)(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e);

	/* Called after the pidfd has fired, after a start that failed half-way, or when the record's process is
	 * gone: removes cgroups, directories and firewall entries. -EAGAIN: something is still exiting; call again
	 * in a few ms. Idempotent. */
	int (*reap)(struct engine *en, const struct engine_record *r, struct err *e);

	/* Snapshots and checkpoints have a name and outlive their sandbox. All of these functions block and are
	 * called in a child, except forget() and kept().
	 *
	 * snapshot(): copies the disk of a frozen sandbox; the copy is durable on return. checkpoint(): saves its
	 * memory too. The sandbox must have been frozen since its snapshot() of the same name, and stays frozen
	 * whether the call succeeds or not. -ENOTSUP: this host cannot do it; -EIO: CRIU failed, and e says why. A
	 * failure leaves nothing behind. released() is called as soon as the sandbox may be thawed, because
	 * flushing the checkpoint takes longer than making it. brief: the checkpoint will soon be deleted and need
	 * not survive the host, so it is not flushed.
	 *
	 * restore(): like start(), but the sandbox continues where checkpoint() stopped it, with the same
	 * processes and pids. id, slot and limits are those of the new sandbox. What is saved under spec->from is
	 * not changed. */
	int (*snapshot)(struct engine *en, const struct engine_record *r, const char *name, struct err *e);
	int (*checkpoint)(struct engine *en, const struct engine_record *r, const char *name, bool brief,
	    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e);
	int (*restore)(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
	    struct err *e);
	int (*forget)(struct engine *en, const char *name, struct err *e); /* idempotent; -EAGAIN: call again */
	int (*kept)(struct engine *en, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg,
	    struct err *e);
	void (*room)(struct engine *en, struct engine_room *ret); /* may be NULL */
	/* Packets that the firewall refused since the last call: their number, or -errno. May be NULL. */
	int (*refusals)(struct engine *en, struct engine_refusal *ret, size_t max);
	const char *(*no_checkpoint)(struct engine *en); /* why this host cannot checkpoint; NULL: it can */

	/* Volumes are directories that outlive sandboxes; several sandboxes may mount one at the same time.
	 * volume_set(): creates the volume if it does not exist and sets its limit in bytes (0: no limit); called
	 * in a child. volume_drop(): deletes it in the background; idempotent; -EAGAIN: call again. volumes():
	 * used_bytes is 0 where usage is not counted.
	 *
	 * volume_serve(): called in a child, which becomes a program that serves the volume's files over sock (a
	 * stream socket) and exits when sock closes. It has access to nothing else: its root directory and its ids
	 * are those of the volume. place: 0 to ENGINE_VOLUME_PLACES - 1; no other live process may have the same
	 * number. Returns only on failure. */
	int (*volume_set)(struct engine *en, const char *name, uint64_t bytes, struct err *e);
	int (*volume_drop)(struct engine *en, const char *name, struct err *e);
	int (*volumes)(struct engine *en, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
	    struct err *e);
	int (*volume_serve)(struct engine *en, const char *name, uint32_t place, int sock, struct err *e);

	/* Called in a child: makes sure that the template has what makes its starts quick (a zygote), and that it
	 * works; may take long. ENGINE_NEVER: the template cannot have one, or is not among own_keys. One call at
	 * a time per template. */
	int (*warm)(struct engine *en, const char *template_key, struct err *e);

	/* Called about once a second: growth of the storage and other periodic work. */
	void (*tick)(struct engine *en);

	/* all: no sandbox is running, so storage, parent cgroups, tables and addresses are removed too. */
	void (*close)(struct engine *en, bool all);
};

extern const struct engine_ops engine_host;
