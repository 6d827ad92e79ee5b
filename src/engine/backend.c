/* SPDX-License-Identifier: Apache-2.0 */
/* backend: finds the backend of a sandbox and calls it. */
#include "engine/backend.h"

#include <assert.h>
#include <errno.h>

static const struct engine_backend *const backends[ENGINE_KINDS] = {
	[ENGINE_NAMESPACES] = &backend_namespaces,
	[ENGINE_GVISOR] = &backend_gvisor,
};

static const struct engine_backend *backend_of(uint32_t kind)
{
	assert(kind < ENGINE_KINDS);
	return backends[kind];
}

void backend_open(struct engine *en, const struct engine_record *live, size_t n_live)
{
	for (uint32_t k = 0; k < ENGINE_KINDS; k++) {
		if (backends[k]->open)
			backends[k]->open(en, live, n_live);
	}
}

void backend_close(struct engine *en, bool all)
{
	for (uint32_t k = 0; k < ENGINE_KINDS; k++) {
		if (backends[k]->close)
			backends[k]->close(en, all);
	}
}

const char *backend_missing(struct engine *en, uint32_t kind)
{
	return backend_of(kind)->why_not ? backend_of(kind)->why_not(en) : NULL;
}

static int refuse(struct engine *en, uint32_t kind, struct err *e)
{
	const char *why = backend_missing(en, kind);

	return why ? err_set(e, ENOTSUP, "the engine '%s' is not available: %s", engine_kind_name(kind), why) : 0;
}

int backend_start(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
    struct engine_record *ret, int *ret_pidfd, struct err *e)
{
	int r = refuse(en, spec->kind, e);

	return r < 0 ? r : backend_of(spec->kind)->start(en, spec, pair, ret, ret_pidfd, e);
}

int backend_restore(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
    struct err *e)
{
	int r = refuse(en, spec->kind, e);

	return r < 0 ? r : backend_of(spec->kind)->restore(en, spec, ret, ret_pidfd, e);
}

int backend_adopt(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e)
{
	return backend_of(r->spec.kind)->adopt(en, r, ret_pidfd, e);
}

int backend_connect(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e)
{
	return backend_of(r->spec.kind)->connect(en, r, pidfd, ret_fd, e);
}

int backend_dial(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
    struct err *e)
{
	return backend_of(r->spec.kind)->dial(en, r, pidfd, port, v6, ret_fd, e);
}

int backend_greet(struct engine *en, const struct engine_record *r, int fd, uint16_t port, bool *sent, struct err *e)
{
	return backend_of(r->spec.kind)->greet(en, r, fd, port, sent, e);
}

int backend_limit(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e)
{
	return backend_of(r->spec.kind)->limit(en, r, to, e);
}

int backend_usage(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e)
{
	return backend_of(r->spec.kind)->usage(en, r, ret, e);
}

int backend_kill(struct engine *en, const struct engine_record *r, int pidfd, struct err *e)
{
	return backend_of(r->spec.kind)->kill(en, r, pidfd, e);
}

int backend_reap(struct engine *en, const struct engine_record *r, struct err *e)
{
	return backend_of(r->spec.kind)->reap(en, r, e);
}

int backend_checkpoint(struct engine *en, const struct engine_record *r, const char *name, bool brief,
    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e)
{
	return backend_of(r->spec.kind)->checkpoint(en, r, name, brief, released, arg, ret, e);
}
