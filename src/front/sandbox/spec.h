/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec: what a client asked for when it created a sandbox, read from JSON and checked. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "front/sandbox/template.h"
#include "ipc/msg.h"

struct buf;
struct front;
struct links;
struct policy;

/* Flags, as written to the store: never renumber. */
#define SPEC_SECURE 1u           /* envd wants a token */
#define SPEC_AUTO_PAUSE 2u       /* at its end it is paused, not killed */
#define SPEC_AUTO_RESUME 4u      /* traffic wakes it */
#define SPEC_NO_INTERNET 8u      /* as it is enforced */
#define SPEC_INTERNET_ASKED 16u  /* allow_internet_access was given: echoed as a bool, else null */
#define SPEC_INTERNET_FALSE 32u  /* ... as false */
#define SPEC_PRIVATE_TRAFFIC 64u /* ports want the traffic token */
#define SPEC_PAUSE_DISK 256u     /* ... and then only its disk is saved */
#define SPEC_DEBUG 128u          /* the one behind the debug ports */

struct limits_range;

struct spec {
	struct template tpl;
	uint32_t timeout_s;
	uint32_t flags;
	struct msg_limits limits;
	json_t *metadata, *env_vars, *network; /* objects or NULL, owned */
	/* [{id, name, path}], a path before what lies below it; or NULL, owned */
	json_t *volumes;
	const char *mask_host; /* in network, or NULL */
	char from[ID_SIZE];    /* what it begins with: a name that the warden knows; "": nothing but the template */
	uint32_t from_what;    /* SAVED_* */
	bool from_built;       /* ... a template: others will ask for the same */
	/* what it may reach; NULL: all, or nothing with SPEC_NO_INTERNET; owned */
	struct policy *policy;
};

enum spec_version { SPEC_V1, SPEC_V2 };

/* Are the secrets there that its network asks for? -EINVAL, naming the field. */
int spec_check_secrets(const struct links *l, const char *team, const struct spec *sp, struct err *e);

/* Of a sandbox of that template, for that team and key ("": none). */
void spec_limits_range(const struct front *f, const char *team, const char *key, const struct template *tpl,
    struct limits_range *ret);
int spec_limits(const struct front *f, const char *team, const char *key, const json_t *body, struct spec *sp,
    struct err *e);

/* On failure the err text is for the client, naming the field: -EINVAL (400), -ENOENT (404: template). */
int spec_parse(const struct front *f, const char *team, const json_t *body, enum spec_version ver, struct spec *ret,
    struct err *e);
/* For a copy of that sandbox; its secrets only if asked for, see spec_network_bare(). */
int spec_copy(const struct spec *sp, bool secrets, struct spec *ret, struct err *e);
/* borrowed; keeps a reference; flags are set before */
int spec_network(json_t *network, struct spec *sp, struct err *e);
bool spec_is_https(const struct spec *sp, uint16_t port); /* what listens there speaks TLS itself */
void spec_done(struct spec *sp);

/* Its volumes, by spec_volumes.c. The field of a request, with the names of the team's volumes; those that a snapshot
 * brings are in sp already. */
/* -EINVAL, naming the field */
int spec_volumes(const struct front *f, const char *team, const json_t *body, struct spec *sp, struct err *e);
int spec_volumes_load(const char *text, struct spec *sp);         /* as it was written; NULL: none. -EINVAL */
char *spec_volumes_text(const struct spec *sp);                   /* for the store; NULL: none */
json_t *spec_volumes_shown(const struct spec *sp);                /* as clients see them: [{name, path}] */
uint32_t spec_put_mounts(const struct spec *sp, struct buf *out); /* struct msg_mount for each; how many */
bool spec_has_volume(const struct spec *sp, const char *id);

/* An integer field, strictly: "60" and 60.0 are refused. Absent or null leaves *ret alone; *ret_given says which. */
int field_int(const json_t *o, const char *field, int64_t min, int64_t max, int64_t *ret, bool *ret_given,
    struct err *e);
