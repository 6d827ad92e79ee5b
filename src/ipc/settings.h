/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/settings: the values of settings (ipc/settings.tbl), and what atolld passes of them to its programs. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/engines.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/log.h"

#define MEGABYTES_MAX (16u * 1024 * 1024) /* 16 TiB: upper bound of every setting in megabytes */

/* Enums of settings, in the order of their words in the table. */
enum on_stop { STOP_KILL, STOP_KEEP };
enum idle_memory { IDLE_MEMORY_KEEP, IDLE_MEMORY_COMPRESS, IDLE_MEMORY_SWAP };
/* AUDIT_REQUIRED: an operation that cannot be recorded is refused */
enum audit_mode { AUDIT_ON, AUDIT_REQUIRED, AUDIT_OFF };
enum audit_code { AUDIT_CODE_HASH, AUDIT_CODE_FULL };
/* Which requests to the code interpreter of a sandbox with a token must carry that token. Official clients send it
 * with /execute, but not with /contexts. */
enum interp_token { INTERP_TOKEN_EXECUTE, INTERP_TOKEN_ALL, INTERP_TOKEN_NONE };

#define NAME_SERVERS_MAX 4 /* that atoll-egress asks */
#define DOORS_MAX 12       /* listening sockets for clients */

enum door_kind {
	DOOR_HTTP,
	DOOR_HTTPS,
	DOOR_BOTH, /* plain HTTP and TLS on the same port */
	DOOR_DEBUG_ENVD,
	DOOR_DEBUG_INTERPRETER,
	DOOR_KINDS,
};

/* What atolld passes to a program at its start: one struct, in a file of exactly these bytes. Members that are settings
 * have the names of the table; the others are known only once the server starts. Both sides are of one build: `layout`
 * says that they agree. A member that is no setting also has a line in ipc/settings.c. */
#define SETTING(of, form, name, words, type, array, default_) type name array;

struct front_options {
	uint64_t layout;
	char state_dir[64], key_file[96]; /* as the front sees them */
	char domain[160];                 /* of host names of sandboxes, with the port that clients must append */
	char url[96];                     /* where the server listens */
	uint32_t n_doors;
	enum door_kind doors[DOORS_MAX]; /* of the descriptors that follow, in that order */
	bool has_console;                /* a descriptor of the console's directory follows those */
	bool domain_is_default;          /* not configured: clients that use another host name keep that */
#define OF front
#include "ipc/settings_of.tbl"
};

struct egress_options {
	uint64_t layout;
	char names_domain[160]; /* of this server; "": sandboxes do not reach it by name */
	uint32_t names_ip;      /* what it and the names below it resolve to in a sandbox: engine/slot.h */
#define OF egress
#include "ipc/settings_of.tbl"
};

struct agent_options {
	uint64_t layout;
	char state_dir[64]; /* as atoll-agent sees it */
#define OF agent
#include "ipc/settings_of.tbl"
};

struct webhooks_options {
	uint64_t layout;
#define OF webhooks
#include "ipc/settings_of.tbl"
};

struct oidc_options {
	uint64_t layout;
	bool oidc_has_secret; /* a descriptor of the file with the client's secret follows */
#define OF oidc
#include "ipc/settings_of.tbl"
};

#define REFUSALS_RANGES_MAX 7

struct refusals_options {
	uint64_t layout;
	uint32_t n_uids, uids[REFUSALS_RANGES_MAX]; /* first uids of the ranges of sandboxes: engine/slot.h */
#define OF refusals
#include "ipc/settings_of.tbl"
};

struct pull_options {
	uint64_t layout;
#define OF pull
#include "ipc/settings_of.tbl"
};

#undef SETTING

enum options_of {
	OPTIONS_FRONT,
	OPTIONS_EGRESS,
	OPTIONS_AGENT,
	OPTIONS_WEBHOOKS,
	OPTIONS_OIDC,
	OPTIONS_REFUSALS,
	OPTIONS_PULL,
	OPTIONS_COUNT,
};

#define OPTIONS_FD 4 /* in every program that atolld starts with options */

/* A hash of names, words, places and sizes of all members. */
uint64_t options_layout(enum options_of of);

/* In atolld: writes the struct to a file in memory that nobody can change. name: for /proc. */
int options_seal(const char *name, const void *options, size_t size, int *ret_fd, struct err *e);

/* Reads the struct of that program and checks it. -EPROTO: of another build; -EINVAL: malformed. */
int options_read(int fd, enum options_of of, void *ret, size_t size, struct err *e);

/* The same at the start of a program: from OPTIONS_FD, which it closes. */
int options_take(enum options_of of, void *ret, size_t size, struct err *e);
