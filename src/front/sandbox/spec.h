/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec: the settings that a client gives when it creates a sandbox, parsed from JSON and checked. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "front/sandbox/template.h"
#include "ipc/msg.h"

struct buf;
struct sandboxes;
struct links;
struct policy;

/* Flags, as written to the store: never renumber. */
#define SPEC_SECURE 1u           /* envd requires a token */
#define SPEC_AUTO_PAUSE 2u       /* at its timeout it is paused, not killed */
#define SPEC_AUTO_RESUME 4u      /* traffic resumes it */
#define SPEC_NO_INTERNET 8u      /* the effective value */
#define SPEC_INTERNET_ASKED 16u  /* allow_internet_access was given: it is returned as a bool, else as null */
#define SPEC_INTERNET_FALSE 32u  /* it was given as false */
#define SPEC_PRIVATE_TRAFFIC 64u /* ports require the traffic token */
#define SPEC_PAUSE_DISK 256u     /* with SPEC_AUTO_PAUSE: only the disk is saved */
#define SPEC_DEBUG 128u          /* the sandbox behind the debug ports */
#define SPEC_ENGINE_SHIFT 16     /* 4 bits: enum engine_kind */
#define SPEC_ENGINE (15u << SPEC_ENGINE_SHIFT)
#define SPEC_NEEDS_SHIFT 20 /* 2 bits: ENGINE_NEEDS_* */
#define SPEC_NEEDS (ENGINE_NEEDS_ALL << SPEC_NEEDS_SHIFT)

struct limits_range;

struct spec {
	struct template tpl;
	uint32_t timeout_s;
	uint32_t flags;
	struct msg_limits limits;
	json_t *metadata, *env_vars, *network; /* objects or NULL, owned */
	/* [{id, name, path}], parent paths first; or NULL, owned */
	json_t *volumes;
	const char *mask_host; /* points into network, or NULL */
	char from[ID_SIZE];    /* name of the saved state to start from, for the warden; "": only the template */
	uint32_t from_what;    /* SAVED_* */
	char parent[ID_SIZE];  /* the sandbox whose fork it is, or whose snapshot it starts from; "": none */
	bool from_built;       /* `from` is a built template: other clients will ask for the same */
	/* What it may reach. NULL: everything, or nothing with SPEC_NO_INTERNET. Owned. */
	struct policy *policy;
};

static inline uint32_t spec_engine(const struct spec *sp)
{
	return (sp->flags & SPEC_ENGINE) >> SPEC_ENGINE_SHIFT;
}

static inline uint32_t spec_needs(const struct spec *sp)
{
	return (sp->flags & SPEC_NEEDS) >> SPEC_NEEDS_SHIFT;
}

static inline void spec_set_engine(struct spec *sp, uint32_t kind)
{
	sp->flags = (sp->flags & ~SPEC_ENGINE) | kind << SPEC_ENGINE_SHIFT;
}

enum spec_version { SPEC_V1, SPEC_V2 };

/* Checks that the secrets used in its network exist. Returns -EINVAL, naming the field. */
int spec_check_secrets(const struct links *l, const char *team, const struct spec *sp, struct err *e);

/* The default and maximum limits of a sandbox of this template, for this team and key ("": none). */
void spec_limits_range(const struct sandboxes *all, const char *team, const char *key, const struct template *tpl,
    struct limits_range *ret);
int spec_limits(const struct sandboxes *all, const char *team, const char *key, const json_t *body, struct spec *sp,
    struct err *e);

/* Parses the field `engine`, applies the rules of key, team and server, and sets the spec's engine. -EINVAL: the err
 * text is for the client; in particular, there never is another engine than the one that was asked for. */
int spec_engine_pick(const struct sandboxes *all, const char *team, const char *key, const json_t *body,
    struct spec *sp, struct err *e);

void spec_needs_put(struct buf *out, const struct spec *sp); /* ,"needs":[...] */

/* On failure the err text is for the client and names the field: -EINVAL (400), -ENOENT (404: no such template). */
int spec_parse(const struct sandboxes *all, const char *team, const json_t *body, enum spec_version ver,
    struct spec *ret, struct err *e);
/* Copies the spec for a copy of the sandbox. Without `secrets`, network is reduced by spec_network_bare(). */
int spec_copy(const struct spec *sp, bool secrets, struct spec *ret, struct err *e);
/* network is borrowed; the spec takes a reference. The flags must be set before. */
int spec_network(json_t *network, struct spec *sp, struct err *e);
bool spec_is_https(const struct spec *sp, uint16_t port); /* whether the server on that port speaks TLS itself */
void spec_done(struct spec *sp);

/* The volumes of a spec, in spec_volumes.c. spec_volumes() parses the field of a request and looks up the names of
 * the team's volumes; those of a snapshot are in sp already. */
/* Returns -EINVAL, naming the field. */
int spec_volumes(const struct sandboxes *all, const char *team, const json_t *body, struct spec *sp, struct err *e);
/* parses the text from the store; NULL: no volumes. -EINVAL */
int spec_volumes_load(const char *text, struct spec *sp);
char *spec_volumes_text(const struct spec *sp);    /* JSON for the store; NULL: no volumes */
json_t *spec_volumes_shown(const struct spec *sp); /* as clients see them: [{name, path}] */
/* appends one struct msg_mount each; returns their number */
uint32_t spec_put_mounts(const struct spec *sp, struct buf *out);
bool spec_has_volume(const struct spec *sp, const char *id);

/* Parses an integer field strictly: "60" and 60.0 are refused. If it is absent or null, *ret is unchanged and
 * *ret_given is false. */
int field_int(const json_t *o, const char *field, int64_t min, int64_t max, int64_t *ret, bool *ret_given,
    struct err *e);
