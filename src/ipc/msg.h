/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/msg: the messages between the front and the warden.
 *
 * A SOCK_SEQPACKET socketpair; one message per packet: struct msg_head, then the fixed-size body of its type,
 * then a policy and mounts where the body gives their lengths. The front sends requests (OP_*). The warden
 * answers each with one RE_* that has the same seq, in any order, and sends events (EV_*) on its own. Text
 * fields are NUL-terminated within their size and padded with zeros. The warden checks every field again with
 * ipc/check.h and drops a front that sends anything invalid: a front is restarted in a moment, while a warden
 * that guesses can be exploited. ipc/messages.tbl lists the messages; docs/protocol-warden.md describes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/engines.h"

#define MSG_VERSION 13
#define MSG_MAX 24576 /* the largest message */

#define ID_SIZE 24           /* sandbox id: [a-z0-9]{1,23} */
#define TEMPLATE_KEY_SIZE 33 /* 32 lower-case hex digits */
#define TEMPLATE_NAME_SIZE 64
#define TEMPLATES_MAX 8
#define REQUEST_ID_SIZE 72 /* correlation id for the logs: [A-Za-z0-9_-]{0,64}, zero padded */
#define REQUEST_ID_MAX 64
#define IMAGE_REF_SIZE 768 /* registry, repository, tag and digest */
#define MOUNT_PATH_SIZE 232
#define MOUNTS_MAX 8 /* volumes of a sandbox */
#define ENGINE_WHY_SIZE 160
#define TICKET_SECRET_SIZE 32 /* the front derives the keys of TLS session tickets from it */

enum msg_type {
	MSG_NONE,
#define REQUEST(type, ...) type,
#include "ipc/messages.tbl"
	OP_COUNT, /* not a message: the number of requests + 1 */

	RE_BEFORE = 63, /* not a message: the next is 64 */
#define REPLY(type, ...) type,
#include "ipc/messages.tbl"
	EV_BEFORE = 95, /* not a message: the next is 96 */
#define EVENT(type, ...) type,
#include "ipc/messages.tbl"
	MSG_TYPES /* not a message: above all of them */
};

struct msg_head {
	uint16_t version;
	uint16_t type;
	uint32_t seq; /* 0 in events */
};

struct msg_hello {
	struct msg_head head;
};

struct msg_limits { /* as maxima: 0, where it means no limit, permits a sandbox without one */
	uint64_t mem_bytes;
	uint64_t disk_bytes;
	uint32_t cpu_permille; /* 2000 = two cores */
	uint32_t pids;
	uint64_t swap_bytes;     /* beyond the memory; 0: none */
	uint64_t io_bytes_s;     /* for reading and for writing each; 0: no limit */
	uint64_t egress_bytes;   /* bytes to send before its network is closed; 0: no limit */
	uint64_t egress_bytes_s; /* 0: no limit */
	uint32_t io_ops_s;       /* 0: no limit */
	uint32_t open_files;     /* per process; cannot be changed after the start */
};

struct msg_template { /* a name of a template, and the image behind it */
	char name[TEMPLATE_NAME_SIZE];
	char key[TEMPLATE_KEY_SIZE];
	char zero[7];
	uint64_t built_ms; /* wall clock; 0: unknown */
};

struct msg_template_limits { /* replace the general limits */
	char name[TEMPLATE_NAME_SIZE];
	struct msg_limits defaults, maxima;
};

struct msg_welcome {
	struct msg_head head;
	uint32_t instance;
	uint32_t max_sandboxes;
	uint32_t n_templates;
	uint32_t log_level;      /* as in base/log.h */
	uint32_t can_checkpoint; /* 0: memory cannot be checkpointed on this host, see why_not */
	char why_not[156];
	struct msg_limits defaults, maxima;
	struct msg_template templates[TEMPLATES_MAX];
	struct msg_template_limits template_limits[TEMPLATES_MAX];
	uint32_t n_template_limits;
	/* why this host cannot have sandboxes of that engine; "": it can */
	char engine_why[ENGINE_KINDS][ENGINE_WHY_SIZE];
	uint32_t builders; /* starts that the warden works on at a time: two per processor */
	uint8_t ticket_secret[TICKET_SECRET_SIZE];
};

#define START_NO_INTERNET 1u /* flags of OP_START */
/* not urgent: fails with EAGAIN while its template is being warmed, rather than start cold */
#define START_PATIENT 2u
#define START_KEPT 4u    /* starts with the disk that is saved as `from` */
#define START_RESTORE 8u /* starts with that disk and the saved memory */
#define START_IMAGE 16u  /* template_key is that of an image fetched by OP_PULL; ENOENT if it is gone */
#define START_DOCKER 32u /* ENGINE_NEEDS_DOCKER of base/engines.h */
#define START_FUSE 64u   /* ENGINE_NEEDS_FUSE */
#define START_FLAGS_ALL 127u

struct msg_start {
	struct msg_head head;
	char id[ID_SIZE];
	char template_key[TEMPLATE_KEY_SIZE];
	uint8_t pad[7];
	char from[ID_SIZE]; /* a name, with START_KEPT or START_RESTORE; otherwise all zero */
	char request[REQUEST_ID_SIZE];
	uint32_t flags;
	uint32_t n_policy; /* bytes of an ipc/policy.h that follow the message; 0: none */
	uint32_t n_mounts; /* number of struct msg_mount after that */
	uint32_t engine;   /* enum engine_kind */
	struct msg_limits limits;
};

struct msg_mount { /* a volume and its mount path, which may be below an earlier one */
	char name[ID_SIZE];
	char path[MOUNT_PATH_SIZE];
};

struct msg_id { /* OP_KILL, OP_FREEZE, OP_THAW, OP_CONNECT, OP_USAGE */
	struct msg_head head;
	char id[ID_SIZE];
	char request[REQUEST_ID_SIZE];
};

enum dial_family { DIAL_V4 = 4, DIAL_V6 = 6 };

struct msg_dial {
	struct msg_head head;
	char id[ID_SIZE];
	char request[REQUEST_ID_SIZE];
	uint16_t port;  /* not 0 */
	uint8_t family; /* enum dial_family */
	uint8_t pad[5];
};

/* flags of OP_CHECKPOINT: thaw the sandbox as soon as it is not needed any more, and report that by RE_RELEASED */
#define KEEP_THAW 1u
#define KEEP_BRIEF 2u /* it will be deleted soon: it need not survive a reboot of the host */
#define KEEP_FLAGS_ALL 3u
struct msg_limit { /* OP_LIMIT */
	struct msg_head head;
	char id[ID_SIZE];
	char request[REQUEST_ID_SIZE];
	struct msg_limits limits; /* all of them */
};

struct msg_keep { /* OP_SNAPSHOT, OP_CHECKPOINT */
	struct msg_head head;
	char id[ID_SIZE];
	char name[ID_SIZE]; /* the same form as an id */
	char request[REQUEST_ID_SIZE];
	uint32_t flags; /* 0 with OP_SNAPSHOT */
	uint8_t pad[4];
};

struct msg_volume { /* OP_VOLUME */
	struct msg_head head;
	char name[ID_SIZE]; /* the same form as an id */
	char request[REQUEST_ID_SIZE];
	uint64_t bytes; /* 0: limited by the storage only */
};

struct msg_volume_item {
	struct msg_head head;
	char name[ID_SIZE];
	uint64_t used_bytes; /* 0 if usage is not counted */
};

struct msg_name { /* OP_FORGET, OP_VOLUME_DROP, OP_VOLUME_CONNECT */
	struct msg_head head;
	char name[ID_SIZE];
	char request[REQUEST_ID_SIZE];
};

enum pull_what {
	PULL_IMAGE,  /* the named image, from a registry */
	PULL_UPLOAD, /* an archive sent over the stream; no name */
	/* deletes unused images. The keys of those in use are sent over the stream */
	PULL_COLLECT,
	PULL_WHATS, /* not a value: the number of values */
};

struct msg_pull {
	struct msg_head head;
	uint32_t what;
	uint32_t idle_s;          /* PULL_COLLECT: keeps images requested within that time; otherwise 0 */
	char ref[IMAGE_REF_SIZE]; /* printable, no blanks; interpreted by atoll-pull */
	char request[REQUEST_ID_SIZE];
};

struct msg_image {
	struct msg_head head;
	uint64_t bytes;
	uint64_t dump_us; /* how long the sandbox was needed for it */
};

struct msg_kept {
	struct msg_head head;
	char name[ID_SIZE];
	uint8_t disk, memory; /* which parts exist, complete */
	uint8_t pad[6];
};

#define NETWORK_NO_INTERNET 1u /* flags of OP_NETWORK */
#define NETWORK_FLAGS_ALL 1u

struct msg_network {
	struct msg_head head;
	char id[ID_SIZE];
	char request[REQUEST_ID_SIZE];
	uint32_t flags;    /* with the policy that follows, replaces everything before */
	uint32_t n_policy; /* as in struct msg_start */
};

struct msg_shutdown {
	struct msg_head head;
	uint32_t kills; /* all sandboxes are killed after the front has exited; paused ones live until then */
	uint8_t pad[4];
};

struct msg_level {
	struct msg_head head;
	uint32_t level; /* as in base/log.h */
	uint8_t pad[4];
};

enum tls_file { TLS_FILE_CERT = 1, TLS_FILE_KEY };

struct msg_tls_file {
	struct msg_head head;
	uint32_t which; /* enum tls_file */
	uint8_t pad[4];
};

enum audit_what {
	AUDIT_LAST,  /* the last segment with records, or the first one; n is 0 */
	AUDIT_NEXT,  /* n: the segment after that, empty */
	AUDIT_DROP,  /* n: the first segment, which may be deleted because of its age or the total size */
	AUDIT_WHATS, /* not a value: the number of values */
};

struct msg_audit {
	struct msg_head head;
	uint32_t what;
	uint32_t n; /* segments count from 1 */
};

struct msg_audit_file {
	struct msg_head head;
	uint32_t n;     /* the number of this segment, */
	uint32_t first; /* and of the first that exists */
	uint64_t bytes; /* of all other segments */
};

struct msg_list {
	struct msg_head head;
};
struct msg_ok {
	struct msg_head head;
};

struct msg_error {
	struct msg_head head;
	int32_t no; /* errno value: ENOENT unknown id, EEXIST id in use, EMFILE no slot free, ... */
	char text[236];
};

struct msg_sandbox {
	struct msg_head head;
	char id[ID_SIZE];
	char template_key[TEMPLATE_KEY_SIZE];
	uint8_t frozen;
	uint8_t engine; /* enum engine_kind */
	uint8_t pad[5];
	uint64_t started_wall_ms;
	struct msg_limits limits;
};

struct msg_usage {
	struct msg_head head;
	char id[ID_SIZE];
	uint64_t mem_bytes, mem_cache_bytes, mem_limit_bytes;
	uint64_t cpu_ns; /* since start */
	uint64_t disk_bytes, disk_limit_bytes;
	uint64_t all_bytes;                  /* memory of all sandboxes together, without caches; 0: unknown */
	uint64_t sent_bytes, received_bytes; /* over its network, since start */
	uint32_t pids;
	uint32_t oom_kills;
};

struct msg_room { /* the host's capacity for sandboxes, and how much of it is in use */
	struct msg_head head;
	uint32_t slots, slots_used;                 /* limited by addresses and uid ranges */
	uint64_t mem_bytes;                         /* for all sandboxes together; 0: unknown */
	uint64_t pids, pids_used;                   /* of the host */
	uint64_t storage_bytes, storage_free_bytes; /* 0: there is no storage */
	uint64_t storage_grow_bytes;                /* by which it can still grow */
};

struct msg_oom {
	struct msg_head head;
	char id[ID_SIZE];
	uint32_t kills; /* since its start */
	uint8_t pad[4];
};

/* Exit codes of a front for which a restart is useless: */
#define EXIT_NO_USE 3         /* the state was written by a newer version */
#define EXIT_DAMAGED 4        /* the database is damaged, */
#define EXIT_READ_ONLY 5      /* or cannot be written to; */
#define EXIT_DAMAGED_INSIDE 6 /* it was opened, and is damaged */

enum exit_reason { EXIT_KILLED = 1, EXIT_DIED, EXIT_OOM };

#define REFUSED_CALL_SIZE 32
#define REFUSED_PROCESS_SIZE 16
#define REFUSED_WHY_SIZE 192

struct msg_refused {
	struct msg_head head;
	char id[ID_SIZE];
	char call[REFUSED_CALL_SIZE]; /* its name; "": too many refusals, so its records are suppressed for a while */
	char process[REFUSED_PROCESS_SIZE]; /* its name, in printable characters */
	char why[REFUSED_WHY_SIZE];
	uint32_t pid;   /* in the sandbox; 0: no longer known */
	uint32_t count; /* number of refusals, within a short time */
};

struct msg_blocked {
	struct msg_head head;
	char id[ID_SIZE];
	uint32_t ip; /* destination */
	uint16_t port;
	uint8_t proto; /* 6: TCP, 17: UDP */
	uint8_t zero;
};

struct msg_exited {
	struct msg_head head;
	char id[ID_SIZE];
	uint32_t reason; /* enum exit_reason */
	uint8_t pad[4];
	uint64_t cpu_ns, sent_bytes; /* over its whole life */
};
