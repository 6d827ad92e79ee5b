/* SPDX-License-Identifier: Apache-2.0 */
/* proto: the table of requests. */
#include "warden/proto.h"

#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "ipc/check.h"
#include "ipc/policy.h"

struct request {
	size_t size;      /* exact, but for a policy; 0: no such request */
	size_t policy_at; /* where the body says how many bytes of policy are behind it; 0: none may be */
	size_t mounts_at; /* ... and how many mounts behind that; 0: none may be */
	unsigned in;      /* phases it may come in */
	bool once;
	size_t fds; /* exact number of fds it carries */
	const char *(*fields)(const struct proto *pr, const void *msg);
	enum phase then; /* 0: the phase stays */
};

static const char *fields_id(const struct proto *pr, const void *msg)
{
	const struct msg_id *m = msg;

	(void)pr;
	if (!check_id(m->id))
		return "bad sandbox id";
	return check_request(m->request) ? NULL : "bad request id";
}

static const char *fields_network(const struct proto *pr, const void *msg)
{
	const struct msg_network *m = msg;

	(void)pr;
	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_request(m->request))
		return "bad request id";
	return m->flags & ~NETWORK_FLAGS_ALL ? "unknown flags" : NULL;
}

static const char *fields_limit(const struct proto *pr, const void *msg)
{
	const struct msg_limit *m = msg;

	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_request(m->request))
		return "bad request id";
	return msg_check_limits(&m->limits, &pr->maxima) ? NULL : "limits out of range";
}

static const char *fields_dial(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_dial *)0)->pad];
	const struct msg_dial *m = msg;

	(void)pr;
	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_request(m->request))
		return "bad request id";
	if (m->port == 0)
		return "no such port";
	if (memcmp(m->pad, zero, sizeof zero) != 0)
		return "padding is not zero";
	return m->family == DIAL_V4 || m->family == DIAL_V6 ? NULL : "no such family";
}

static const char *fields_level(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_level *)0)->pad];
	const struct msg_level *m = msg;

	(void)pr;
	if (memcmp(m->pad, zero, sizeof zero) != 0)
		return "padding is not zero";
	return m->level > LOG_LVL_ERROR ? "no such log level" : NULL;
}

static const char *fields_tls_file(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_tls_file *)0)->pad];
	const struct msg_tls_file *m = msg;

	(void)pr;
	if (memcmp(m->pad, zero, sizeof zero) != 0)
		return "padding is not zero";
	return m->which == TLS_FILE_CERT || m->which == TLS_FILE_KEY ? NULL : "no such file";
}

static const char *fields_audit(const struct proto *pr, const void *msg)
{
	const struct msg_audit *m = msg;

	(void)pr;
	if (m->what >= AUDIT_WHATS)
		return "no such thing to do with the trail";
	return (m->what == AUDIT_LAST) == (m->n == 0) ? NULL : "bad segment";
}

static const char *fields_keep(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_keep *)0)->pad];
	const struct msg_keep *m = msg;

	(void)pr;
	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_id(m->name))
		return "bad name";
	if (m->flags & ~(m->head.type == OP_CHECKPOINT ? KEEP_FLAGS_ALL : 0))
		return "unknown flags";
	if (memcmp(m->pad, zero, sizeof zero) != 0)
		return "padding is not zero";
	return check_request(m->request) ? NULL : "bad request id";
}

static const char *fields_name(const struct proto *pr, const void *msg)
{
	const struct msg_name *m = msg;

	(void)pr;
	if (!check_id(m->name))
		return "bad name";
	return check_request(m->request) ? NULL : "bad request id";
}

static const char *fields_pull(const struct proto *pr, const void *msg)
{
	const struct msg_pull *m = msg;

	(void)pr;
	if (m->what >= PULL_WHATS || (m->what != PULL_COLLECT && m->idle_s))
		return "bad kind of pull";
	if (m->what == PULL_IMAGE ? !check_image_ref(m->ref) : !check_text(m->ref, sizeof m->ref) || m->ref[0])
		return "bad name of an image";
	return check_request(m->request) ? NULL : "bad request id";
}

static const char *fields_volume(const struct proto *pr, const void *msg)
{
	const struct msg_volume *m = msg;

	(void)pr;
	if (!check_id(m->name))
		return "bad name";
	return check_request(m->request) ? NULL : "bad request id";
}

/* One of the two ways to begin with what is kept, and what is kept; or neither. */
static const char *fields_from(const struct msg_start *m)
{
	uint32_t how = m->flags & (START_KEPT | START_RESTORE);

	if (how == (START_KEPT | START_RESTORE))
		return "two ways to start";
	if (!how)
		return check_text(m->from, sizeof m->from) && !m->from[0] ? NULL : "a name without a use";
	return check_id(m->from) ? NULL : "bad name";
}

static const char *fields_start(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_start *)0)->pad];
	const struct msg_start *m = msg;

	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_template_key(m->template_key))
		return "bad template key";
	if (memcmp(m->pad, zero, sizeof zero) != 0 || memcmp(m->pad2, zero, sizeof m->pad2) != 0)
		return "padding is not zero";
	if (!check_request(m->request))
		return "bad request id";
	if (m->flags & ~START_FLAGS_ALL)
		return "unknown flags";
	if (!msg_check_limits(&m->limits, &pr->maxima))
		return "limits out of range";
	const char *why = fields_from(m);

	/* What is kept goes with the template that it was made of, which may be none of today's; if it is gone, the
	 * engine says so. Images come and go while the server runs. */
	if (why || m->from[0] || (m->flags & START_IMAGE))
		return why;
	for (uint32_t i = 0; i < pr->n_templates; i++) {
		if (memcmp(pr->templates[i].key, m->template_key, sizeof m->template_key) == 0)
			return NULL;
	}
	return "unknown template";
}

static const struct request requests[OP_COUNT] = {
	[OP_HELLO] = { sizeof(struct msg_hello), 0, .in = PHASE_NEW, .once = true, .then = PHASE_SERVE },
	[OP_START] = { sizeof(struct msg_start), offsetof(struct msg_start, n_policy), .in = PHASE_SERVE,
	    .fields = fields_start, .mounts_at = offsetof(struct msg_start, n_mounts) },
	[OP_KILL] = { sizeof(struct msg_id), 0, .in = PHASE_SERVE, .fields = fields_id },
	[OP_FREEZE] = { sizeof(struct msg_id), 0, .in = PHASE_SERVE, .fields = fields_id },
	[OP_THAW] = { sizeof(struct msg_id), 0, .in = PHASE_SERVE, .fields = fields_id },
	[OP_CONNECT] = { sizeof(struct msg_id), 0, .in = PHASE_SERVE, .fields = fields_id },
	[OP_DIAL] = { sizeof(struct msg_dial), 0, .in = PHASE_SERVE, .fields = fields_dial },
	[OP_LIST] = { sizeof(struct msg_list), 0, .in = PHASE_SERVE },
	[OP_USAGE] = { sizeof(struct msg_id), 0, .in = PHASE_SERVE, .fields = fields_id },
	[OP_NETWORK] = { sizeof(struct msg_network), offsetof(struct msg_network, n_policy), .in = PHASE_SERVE,
	    .fields = fields_network },
	[OP_LOG_LEVEL] = { sizeof(struct msg_level), 0, .in = PHASE_SERVE, .fields = fields_level },
	[OP_SNAPSHOT] = { sizeof(struct msg_keep), 0, .in = PHASE_SERVE, .fields = fields_keep },
	[OP_CHECKPOINT] = { sizeof(struct msg_keep), 0, .in = PHASE_SERVE, .fields = fields_keep },
	[OP_FORGET] = { sizeof(struct msg_name), 0, .in = PHASE_SERVE, .fields = fields_name },
	[OP_KEPT] = { sizeof(struct msg_list), 0, .in = PHASE_SERVE },
	[OP_VOLUME] = { sizeof(struct msg_volume), 0, .in = PHASE_SERVE, .fields = fields_volume },
	[OP_VOLUME_DROP] = { sizeof(struct msg_name), 0, .in = PHASE_SERVE, .fields = fields_name },
	[OP_VOLUME_CONNECT] = { sizeof(struct msg_name), 0, .in = PHASE_SERVE, .fields = fields_name },
	[OP_VOLUMES] = { sizeof(struct msg_list), 0, .in = PHASE_SERVE },
	[OP_LIMIT] = { sizeof(struct msg_limit), 0, .in = PHASE_SERVE, .fields = fields_limit },
	[OP_ROOM] = { sizeof(struct msg_list), 0, .in = PHASE_SERVE },
	[OP_PULL] = { sizeof(struct msg_pull), 0, .in = PHASE_SERVE, .fields = fields_pull },
	[OP_TLS_FILE] = { sizeof(struct msg_tls_file), 0, .in = PHASE_SERVE, .fields = fields_tls_file },
	[OP_AUDIT] = { sizeof(struct msg_audit), 0, .in = PHASE_SERVE, .fields = fields_audit },
};

static const char *check_mounts(const char *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct msg_mount m;

		memcpy(&m, p + i * sizeof m, sizeof m);
		if (!check_mount(&m))
			return "bad mount";
	}
	return NULL;
}

/* The size is right, and what stands behind the body is a policy and mounts. */
static const char *check_size(const struct request *rq, const char *msg, size_t n)
{
	struct policy *p = NULL;
	uint32_t n_policy = 0, n_mounts = 0;

	if (n < rq->size)
		return "wrong size";
	if (rq->policy_at)
		memcpy(&n_policy, msg + rq->policy_at, sizeof n_policy);
	if (rq->mounts_at)
		memcpy(&n_mounts, msg + rq->mounts_at, sizeof n_mounts);
	if (n_mounts > MOUNTS_MAX || n - rq->size != (size_t)n_policy + n_mounts * sizeof(struct msg_mount))
		return "wrong size";
	if (n_policy > 0) {
		int r = policy_decode(msg + rq->size, n_policy, &p);

		policy_free(p);
		if (r < 0)
			return "bad policy";
	}
	return check_mounts(msg + rq->size + n_policy, n_mounts);
}

const char *proto_check(struct proto *pr, const void *msg, size_t n, size_t n_fds, enum msg_type *ret_type)
{
	struct msg_head head;
	const char *why;

	if (n < sizeof head)
		return "shorter than a head";
	memcpy(&head, msg, sizeof head);
	if (head.version != MSG_VERSION)
		return "wrong version";
	if (head.type >= ARRAY_LEN(requests) || requests[head.type].size == 0)
		return "unknown request";
	const struct request *rq = &requests[head.type];

	if ((why = check_size(rq, msg, n)))
		return why;
	if (n_fds != rq->fds)
		return "wrong number of fds";
	if (!(rq->in & pr->phase))
		return "not in this phase";
	if (rq->once && (pr->seen & (1u << head.type)))
		return "only once";
	if (head.seq == 0)
		return "no sequence number";
	if (rq->fields && (why = rq->fields(pr, msg)))
		return why;
	pr->seen |= 1u << head.type;
	if (rq->then)
		pr->phase = rq->then;
	*ret_type = (enum msg_type)head.type;
	return NULL;
}
