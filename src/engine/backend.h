/* SPDX-License-Identifier: Apache-2.0 */
/* backend: what differs between the kinds of isolation. The functions are those of struct engine_ops (engine.h) with
 * the same names, for sandboxes of one kind. What is not here is the same for all: freezing by the cgroup, the
 * firewall, the copy of a frozen disk, volumes.
 *
 * A backend starts a sandbox in the builder. It gives it the slot's uids and address, its cgroups and its subvolume,
 * and may use ns_reap() for all of that. */
#pragma once

#include "engine/engine.h"

struct engine_backend {
	/* Called when the rest of the engine is open, and before it is closed; may be NULL. That a host cannot have
	 * sandboxes of this kind is no error. */
	void (*open)(struct engine *en, const struct engine_record *live, size_t n_live);
	void (*close)(struct engine *en, bool all);
	const char *(*why_not)(struct engine *en); /* NULL: every host can */
	int (*start)(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
	    struct engine_record *ret, int *ret_pidfd, struct err *e);
	int (*restore)(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
	    struct err *e);
	int (*adopt)(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e);
	int (*connect)(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e);
	int (*dial)(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
	    struct err *e);
	/* NULL: connect() and dial() never return ENGINE_GREET. */
	int (
	    *greet)(struct engine *en, const struct engine_record *r, int fd, uint16_t port, bool *sent, struct err *e);
	int (*limit)(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e);
	int (*usage)(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e);
	int (*kill)(struct engine *en, const struct engine_record *r, int pidfd, struct err *e);
	int (*reap)(struct engine *en, const struct engine_record *r, struct err *e);
	int (*checkpoint)(struct engine *en, const struct engine_record *r, const char *name, bool brief,
	    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e);
};

extern const struct engine_backend backend_namespaces, backend_gvisor;

void backend_open(struct engine *en, const struct engine_record *live, size_t n_live);
void backend_close(struct engine *en, bool all);

/* Functions of engine_host: each calls that of the sandbox's backend. */
const char *backend_missing(struct engine *en, uint32_t kind);
int backend_start(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
    struct engine_record *ret, int *ret_pidfd, struct err *e);
int backend_restore(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
    struct err *e);
int backend_adopt(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e);
int backend_connect(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e);
int backend_dial(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
    struct err *e);
int backend_greet(struct engine *en, const struct engine_record *r, int fd, uint16_t port, bool *sent, struct err *e);
int backend_limit(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e);
int backend_usage(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e);
int backend_kill(struct engine *en, const struct engine_record *r, int pidfd, struct err *e);
int backend_reap(struct engine *en, const struct engine_record *r, struct err *e);
int backend_checkpoint(struct engine *en, const struct engine_record *r, const char *name, bool brief,
    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e);
