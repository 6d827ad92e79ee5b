/* SPDX-License-Identifier: Apache-2.0 */
/* engine: makes, freezes and ends sandboxes; the one interface between the warden and a kind of wall.
 *
 * The namespace engine (engine_ns) is the default; gVisor or a micro-VM would fill the same table. A sandbox is,
 * for the warden, a pidfd of its pid 1 (or of the monitor process that stands for it), a slot of the
 * instance (uids, address, names follow from it), and a plain record that survives a restart.
 *
 * start() blocks for some milliseconds and is called in a child process of the warden (the builder), never in the
 * warden's loop; so are warm(), and reap() of the slow parts. The rest are quick and are called in the loop. The record
 * that start() fills is sent back to the warden through a pipe: it holds no pointers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/inet.h"

#define ENGINE_ID_SIZE 24
#define ENGINE_KEY_SIZE 33
#define ENGINE_NAME_SIZE 24 /* of what is kept of a sandbox, and of a volume: [a-z0-9]+ */
#define ENGINE_PATH_SIZE 232
#define ENGINE_VOLUMES_MAX 8

struct engine_limits {
	uint64_t mem_bytes;
	uint64_t disk_bytes;
	uint32_t cpu_permille;
	uint32_t pids;
	uint64_t swap_bytes;                               /* beyond the memory */
	uint64_t io_bytes_s, egress_bytes, egress_bytes_s; /* 0: no limit */
	uint32_t io_ops_s;                                 /* 0: no limit */
	uint32_t open_files;                               /* of one process */
};

struct engine_volume {
	char name[ENGINE_NAME_SIZE];
	char path[ENGINE_PATH_SIZE]; /* where the sandbox sees it; absolute and clean */
};

struct engine_spec { /* what to start; checked by the warden */
	char id[ENGINE_ID_SIZE];
	char template_key[ENGINE_KEY_SIZE];
	char from[ENGINE_NAME_SIZE]; /* start(): the kept disk that it begins with; "": an empty one */
	uint32_t slot;               /* which of the instance's places it takes */
	bool no_internet;
	/* has a policy of its own in the firewall: network() was called before start() */
	bool ruled;
	struct engine_limits limits;
	uint32_t n_volumes;
	struct engine_volume volumes[ENGINE_VOLUMES_MAX]; /* in this order: one may lie below another */
};

#define ENGINE_NETS_MAX 256
#define ENGINE_PORTS_MAX 64

struct engine_net {
	uint32_t ip;               /* host byte order */
	uint16_t port_lo, port_hi; /* 0 and 65535: all, and what has no ports */
	uint8_t len;               /* of the prefix */
	bool allow;
};

struct engine_ports {
	uint16_t lo, hi;
};

/* What a sandbox may reach, as far as a firewall can tell. Allowed is what a net allows, then refused what another one
 * names, then all, or nothing. */
struct engine_policy {
	bool deny_all;    /* what no net allows is refused */
	bool no_dns;      /* names cannot be asked for either: a query can carry anything out */
	bool all_through; /* the nets do not lead past the proxy */
	uint32_t n_nets, n_ports;
	struct engine_net nets[ENGINE_NETS_MAX];
	struct engine_ports ports[ENGINE_PORTS_MAX]; /* TCP to these goes to the host's own proxy, which decides */
};

struct engine_record { /* a running sandbox: only fixed-size plain data, it goes through pipes */
	struct engine_spec spec;
	int32_t pid;        /* of its pid 1, in the host's pid namespace */
	uint64_t pid_start; /* field 22 of /proc/PID/stat: with boot_id it tells a reused pid */
	char boot_id[40];
	uint64_t started_wall_ms;
	/* its memory limit is so much higher: a restored one has what it shared with others to itself */
	uint64_t extra_bytes;
};

struct engine_usage {
	uint64_t mem_bytes, mem_cache_bytes, cpu_ns, disk_bytes;
	/* memory of all sandboxes and zygotes together, as of the last second; 0: not known */
	uint64_t all_bytes;
	uint64_t sent_bytes, received_bytes;
	uint32_t pids, oom_kills;
};

#define ENGINE_REFUSALS_MAX 256 /* at a time */

struct engine_refusal { /* a packet of a sandbox that the firewall refused */
	uint32_t slot;
	uint32_t ip; /* where to */
	uint16_t port;
	uint8_t proto; /* IPPROTO_TCP or IPPROTO_UDP */
};

struct engine_room {        /* of the host; 0: not known, or there is none */
	uint64_t mem_bytes; /* that all sandboxes use together */
	uint64_t pids, pids_used;
	uint64_t storage_bytes, storage_free_bytes, storage_grow_bytes;
};

struct engine_image { /* of the memory of a sandbox, as checkpoint() has written it */
	uint64_t bytes;
	uint64_t dump_us, total_us; /* until CRIU was done; until all was on the disk */
};

#define ENGINE_OWN_MAX 8

struct engine_config {          /* the instance; strings live as long as the engine */
	uint32_t instance;      /* 0..15 */
	uint32_t max_sandboxes; /* slots 0..max-1, at most 2000 */
	const char *state_dir, *run_dir, *cache_dir;
	const char *init_path; /* the atoll-init binary */
	const char *tools_key; /* of the root with CRIU, among the templates; NULL or "": there is none */
	/* of the server's own templates, NULL after the last one: only these are ever warm */
	const char *own_keys[ENGINE_OWN_MAX];
	uint64_t storage_bytes, storage_max_bytes;
	bool no_storage;                      /* run without the btrfs pool: no disk limits */
	uint32_t cpu_weight;                  /* of all sandboxes together, against what else the host does; 0: 100 */
	uint64_t mem_total_bytes;             /* of all sandboxes together; 0: the host's minus a reserve */
	const struct inet_range *open_ranges; /* private ones that sandboxes may reach */
	size_t n_open_ranges;
	/* of the proxy, which connects for sandboxes and must not reach more than they; 0: none */
	uid_t egress_uid;
	uint16_t proxy_port;             /* on the gateway address */
	uint16_t names_port, names_door; /* of engine/net/nft.h */
	bool core_scheduling;            /* where the kernel has it: engine/core.h */
	/* new sandboxes see the host, and run on all of its processors: engine/view/view.h */
	bool no_view;
	bool tell_refusals; /* the kernel tells of refused system calls: somebody listens to it */
};

struct engine;

#define ENGINE_COLD 1
#define ENGINE_NEVER 1
#define ENGINE_VOLUME_PLACES 40

struct engine_ops {
	const char *name;

	/* Once, at start: pool, parent cgroups, network tables; also right after a crash of an earlier warden with
	 * sandboxes still running, whose records are given so that nothing of theirs is disturbed; network() is called
	 * for those that are ruled, until when they reach nothing. Must be called in the warden's private mount
	 * namespace. */
	int (*open)(const struct engine_config *cfg, const struct engine_record *live, size_t n_live,
	    struct engine **ret, struct err *e);

	/* Before start() and restore(), in the warden itself: makes the parent cgroups anew if somebody has removed
	 * them meanwhile. */
	int (*mend)(struct engine *en, struct err *e);

	/* In a child: makes the sandbox. On failure everything made so far is gone again. On success ret and *ret_pidfd
	 * are filled and init is listening. 0, or ENGINE_COLD: it has started without what warm() is for. */
	int (*start)(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
	    struct err *e);

	/* Is that record's process still there? Gives a pidfd. -ESRCH: gone (reap it). */
	int (*adopt)(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e);

	int (*connect)(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e);
	/* A non-blocking TCP socket that is on its way to, or at, that port on the loopback inside. */
	int (*dial)(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
	    struct err *e);
	/* -EAGAIN: some of it still runs; call again in a few ms, or with on == false to give up. Off: a checkpoint()
	 * that an earlier warden began still needs it; call again. */
	int (*freeze)(struct engine *en, const struct engine_record *r, bool on, struct err *e);
	/* What it may reach from now on: all that is not private, with p NULL and without no_internet. All or nothing
	 * of the change is in force afterwards. It reads all of the host's firewall, so it is called in a child, also
	 * before start(); without one only by a warden that takes over. */
	int (*network)(struct engine *en, const struct engine_record *r, bool no_internet,
	    const struct engine_policy *p, struct err *e);

	/* Other limits from now on, all but open_files; r has the old ones. It may wait for memory to be written out,
	 * so it is called in a child. -EBUSY: it uses more memory than that. On failure the old ones hold. */
	int (*limit)(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e);

	/* An fd that is readable whenever the kernel had to kill a process for want of memory, or is about to; usage()
	 * tells. */
	int (*oom_watch)(struct engine *en, const struct engine_record *r, int *ret_fd, struct err *e);

	/* Takes its quota of processor time away, and puts it back. Quick; -errno. */
	int (*hurry)(struct engine *en, const struct engine_record *r, bool on);

	/* Asks; the pidfd tells the end. With pidfd -1 (nobody has one: a builder died) whatever is in its cgroup is
	 * killed; reap() then tells the end. */
	int (*kill)(struct engine *en, const struct engine_record *r, int pidfd, struct err *e);
	int (*usage)(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e);

	/* After the pidfd has fired (or start failed half-way, or the record's process is gone): removes cgroups,
	 * directories, firewall entries. -EAGAIN: something is still going away, call again in a few ms. Idempotent. */
	int (*reap)(struct engine *en, const struct engine_record *r, struct err *e);

	/* What can be kept of a sandbox under a name, and outlives it. All but forget() and kept() block, and are
	 * called in a child.
	 *
	 * snapshot(): the disk of a frozen sandbox as it is, safe on the disk when it returns. checkpoint(): its memory
	 * too; it must be frozen since its snapshot() of the same name, and stays frozen whatever comes of it.
	 * -ENOTSUP: this host cannot; -EIO: CRIU could not, and e says what was in its way. Nothing is left of a
	 * failure. released() is called as soon as the sandbox is not needed any more and may be thawed: writing the
	 * image out takes longer than making it. brief: it will soon be forgotten and need not outlive the host, so it
	 * is not written out.
	 *
	 * restore(): like start(), but of a sandbox that goes on where checkpoint() found it: same processes, same
	 * pids. id, slot and limits are those of the new one. What is kept as spec->from stays. */
	int (*snapshot)(struct engine *en, const struct engine_record *r, const char *name, struct err *e);
	int (*checkpoint)(struct engine *en, const struct engine_record *r, const char *name, bool brief,
	    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e);
	int (*restore)(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
	    struct err *e);
	int (*forget)(struct engine *en, const char *name, struct err *e); /* idempotent; -EAGAIN: ask again */
	int (*kept)(struct engine *en, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg,
	    struct err *e);
	void (*room)(struct engine *en, struct engine_room *ret); /* may be NULL */
	/* of the firewall, since they were last asked for: how many, or -errno. May be NULL */
	int (*refusals)(struct engine *en, struct engine_refusal *ret, size_t max);
	const char *(*no_checkpoint)(struct engine *en); /* why this host cannot; NULL: it can */

	/* Volumes: directories that outlive sandboxes, and that several of them may have mounted at a time.
	 * volume_set(): there is one of that name, and it may hold so many bytes (0: as many as there is room for); in
	 * a child. volume_drop(): in the background; idempotent; -EAGAIN: ask again. bytes of volumes(): 0 where
	 * nothing counts them.
	 *
	 * volume_serve(): in a child, which becomes a program that serves the files in it over sock (a stream socket)
	 * and ends with it. It has no power over anything else: root and ids are those of the volume. place: 0 to
	 * ENGINE_VOLUME_PLACES - 1, no other of that number may live. Returns only when it failed. */
	int (*volume_set)(struct engine *en, const char *name, uint64_t bytes, struct err *e);
	int (*volume_drop)(struct engine *en, const char *name, struct err *e);
	int (*volumes)(struct engine *en, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
	    struct err *e);
	int (*volume_serve)(struct engine *en, const char *name, uint32_t place, int sock, struct err *e);

	/* In a child: sees to it that the template has whatever makes starts of it quick, and that this works; may take
	 * long. ENGINE_NEVER: there is no such thing for that template, or it is none of own_keys. One at a time per
	 * template. */
	int (*warm)(struct engine *en, const char *template_key, struct err *e);

	/* Pool growth and the like, about once a second. */
	void (*tick)(struct engine *en);

	/* all: nothing is running any more, so take the pool, parent cgroups, tables and addresses down too. */
	void (*close)(struct engine *en, bool all);
};

extern const struct engine_ops engine_ns;
