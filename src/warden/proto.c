/* SPDX-License-Identifier: Apache-2.0 */
/* proto: the fields of requests, one function for each kind of body. */
#include "warden/proto.h"

#include <string.h>

#include "base/log.h"
#include "ipc/check.h"
#include "ipc/policy.h"

static const char *fields_msg_id(const struct proto *pr, const void *msg)
{
	const struct msg_id *m = msg;

	(void)pr;
	if (!check_id(m->id))
		return "bad sandbox id";
	return check_request(m->request) ? NULL : "bad request id";
}

static const char *fields_msg_network(const struct proto *pr, const void *msg)
{
	const struct msg_network *m = msg;

	(void)pr;
	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_request(m->request))
		return "bad request id";
	return m->flags & ~NETWORK_FLAGS_ALL ? "unknown flags" : NULL;
}

static const char *fields_msg_limit(const struct proto *pr, const void *msg)
{
	const struct msg_limit *m = msg;

	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_request(m->request))
		return "bad request id";
	return msg_check_limits(&m->limits, &pr->maxima) ? NULL : "limits out of range";
}

static const char *fields_msg_dial(const struct proto *pr, const void *msg)
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

static const char *fields_msg_level(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_level *)0)->pad];
	const struct msg_level *m = msg;

	(void)pr;
	if (memcmp(m->pad, zero, sizeof zero) != 0)
		return "padding is not zero";
	return m->level > LOG_LVL_ERROR ? "no such log level" : NULL;
}

static const char *fields_msg_tls_file(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_tls_file *)0)->pad];
	const struct msg_tls_file *m = msg;

	(void)pr;
	if (memcmp(m->pad, zero, sizeof zero) != 0)
		return "padding is not zero";
	return m->which == TLS_FILE_CERT || m->which == TLS_FILE_KEY ? NULL : "no such file";
}

static const char *fields_msg_audit(const struct proto *pr, const void *msg)
{
	const struct msg_audit *m = msg;

	(void)pr;
	if (m->what >= AUDIT_WHATS)
		return "no such thing to do with the trail";
	return (m->what == AUDIT_LAST) == (m->n == 0) ? NULL : "bad segment";
}

static const char *fields_msg_keep(const struct proto *pr, const void *msg)
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

static const char *fields_msg_name(const struct proto *pr, const void *msg)
{
	const struct msg_name *m = msg;

	(void)pr;
	if (!check_id(m->name))
		return "bad name";
	return check_request(m->request) ? NULL : "bad request id";
}

static const char *fields_msg_pull(const struct proto *pr, const void *msg)
{
	const struct msg_pull *m = msg;

	(void)pr;
	if (m->what >= PULL_WHATS || (m->what != PULL_COLLECT && m->idle_s))
		return "bad kind of pull";
	if (m->what == PULL_IMAGE ? !check_image_ref(m->ref) : !check_text(m->ref, sizeof m->ref) || m->ref[0])
		return "bad name of an image";
	return check_request(m->request) ? NULL : "bad request id";
}

static const char *fields_msg_volume(const struct proto *pr, const void *msg)
{
	const struct msg_volume *m = msg;

	(void)pr;
	if (!check_id(m->name))
		return "bad name";
	return check_request(m->request) ? NULL : "bad request id";
}

/* Either START_KEPT or START_RESTORE with a name, or neither. */
static const char *fields_from(const struct msg_start *m)
{
	uint32_t how = m->flags & (START_KEPT | START_RESTORE);

	if (how == (START_KEPT | START_RESTORE))
		return "two ways to start";
	if (!how)
		return check_text(m->from, sizeof m->from) && !m->from[0] ? NULL : "a name without a use";
	return check_id(m->from) ? NULL : "bad name";
}

static const char *fields_msg_start(const struct proto *pr, const void *msg)
{
	static const uint8_t zero[sizeof((struct msg_start *)0)->pad];
	const struct msg_start *m = msg;

	if (!check_id(m->id))
		return "bad sandbox id";
	if (!check_template_key(m->template_key))
		return "bad template key";
	if (memcmp(m->pad, zero, sizeof zero) != 0)
		return "padding is not zero";
	if (m->engine >= ENGINE_KINDS)
		return "no such engine";
	if (!check_request(m->request))
		return "bad request id";
	if (m->flags & ~START_FLAGS_ALL)
		return "unknown flags";
	if (m->engine == ENGINE_NAMESPACES && (m->flags & (START_DOCKER | START_FUSE)))
		return "powers over the kernel of the host";
	if (!msg_check_limits(&m->limits, &pr->maxima))
		return "limits out of range";
	const char *why = fields_from(m);

	/* A saved sandbox belongs to the template that it was made from, which may no longer be configured; if
	 * it is gone, the engine reports that. Images come and go while the server runs. */
	if (why || m->from[0] || (m->flags & START_IMAGE))
		return why;
	for (uint32_t i = 0; i < pr->n_templates; i++) {
		if (memcmp(pr->templates[i].key, m->template_key, sizeof m->template_key) == 0)
			return NULL;
	}
	return "unknown template";
}

/* These messages have a head only. */
static const char *fields_msg_hello(const struct proto *pr, const void *msg)
{
	(void)pr;
	(void)msg;
	return NULL;
}

static const char *fields_msg_list(const struct proto *pr, const void *msg)
{
	(void)pr;
	(void)msg;
	return NULL;
}

static const char *(*const fields[OP_COUNT])(const struct proto *pr, const void *msg) = {
#define REQUEST(type, name, body, ...) [type] = fields_##body,
#include "ipc/messages.tbl"
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

/* Reads the sizes of what follows the body. The body is complete. */
static void read_counts(enum msg_type type, const char *msg, uint32_t *ret_policy, uint32_t *ret_mounts)
{
	*ret_policy = *ret_mounts = 0;
	if (type == OP_START) {
		memcpy(ret_policy, msg + offsetof(struct msg_start, n_policy), sizeof *ret_policy);
		memcpy(ret_mounts, msg + offsetof(struct msg_start, n_mounts), sizeof *ret_mounts);
	} else if (type == OP_NETWORK) {
		memcpy(ret_policy, msg + offsetof(struct msg_network, n_policy), sizeof *ret_policy);
	}
}

/* Checks that the size is exact and that the body is followed by a valid policy and valid mounts. */
static const char *check_size(enum msg_type type, const char *msg, size_t n)
{
	size_t size = msg_size(type);
	struct policy *p = NULL;
	uint32_t n_policy, n_mounts;

	if (n < size)
		return "wrong size";
	read_counts(type, msg, &n_policy, &n_mounts);
	if (n_mounts > MOUNTS_MAX || n - size != (size_t)n_policy + n_mounts * sizeof(struct msg_mount))
		return "wrong size";
	if (n_policy > 0) {
		int r = policy_decode(msg + size, n_policy, &p);

		policy_free(p);
		if (r < 0)
			return "bad policy";
	}
	return check_mounts(msg + size + n_policy, n_mounts);
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
	const struct msg_info *info = msg_info(head.type);

	if (!info || info->kind != MSG_REQUEST)
		return "unknown request";
	if ((why = check_size((enum msg_type)head.type, msg, n)))
		return why;
	if (n_fds != 0)
		return "wrong number of fds";
	if (pr->phase != (head.type == OP_HELLO ? PHASE_NEW : PHASE_SERVE))
		return "not in this phase";
	if (head.type == OP_HELLO && pr->greeted)
		return "only once";
	if (head.seq == 0)
		return "no sequence number";
	if ((why = fields[head.type](pr, msg)))
		return why;
	if (head.type == OP_HELLO) {
		pr->greeted = true;
		pr->phase = PHASE_SERVE;
	}
	*ret_type = (enum msg_type)head.type;
	return NULL;
}
