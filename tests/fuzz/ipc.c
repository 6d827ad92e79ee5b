/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a request of the front either has all the properties that the warden's handlers rely on, or is
 * refused. */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "fuzz.h"
#include "ipc/check.h"
#include "ipc/policy.h"
#include "warden/proto.h"
#include "warden/records.h"

#define KEY "0123456789abcdef0123456789abcdef"

static void must_be_label(const char *id)
{
	size_t n = strnlen(id, ID_SIZE);

	MUST(n >= 1 && n < ID_SIZE);
	MUST(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") == n);
}

static struct proto fresh(void)
{
	static const struct msg_template templates[] = { { "base", KEY } };

	return (struct proto) { .phase = PHASE_SERVE,
		.maxima = { 1u << 30, 1u << 30, 2000, 512, .open_files = 1024 },
		.templates = templates,
		.n_templates = 1 };
}

/* --- inputs: each request, sound, and records; made here, because MSG_VERSION and the structs change
 * ------------------- */

#define PUT(p, ...) (memcpy((p), &(__VA_ARGS__), sizeof(__VA_ARGS__)), sizeof(__VA_ARGS__))

static const struct msg_limits limits = { 1u << 29, 1u << 29, 2000, 256, .open_files = 1024 };

static size_t put_policy(uint8_t *p)
{
	struct policy *po = policy_new(POLICY_DENY_ALL);
	struct buf b = BUF_INIT(POLICY_MAX);

	MUST(po &&
	    policy_add_net(po,
		&(struct policy_net) { .ip = 0x01020300, .len = 24, .allow = 1, .port_lo = 1, .port_hi = 65535 }) == 0);
	MUST(policy_add_name(po, POLICY_ALLOW, STR_LIT("*.example.com"), 443, 443) == 0);
	policy_encode(po, &b);
	MUST(!b.bad);
	memcpy(p, b.p, b.n);
	size_t n = b.n;

	buf_done(&b);
	policy_free(po);
	return n;
}

enum start_with { WITH_NOTHING, WITH_POLICY = 1, WITH_MOUNTS = 2, WITH_ALL = 3 };

static size_t put_start(uint8_t *p, uint32_t flags, enum start_with with)
{
	static const struct msg_mount mounts[] = { { "vone", "/data" }, { "vtwo", "/data/below" } };
	struct msg_start m = { { MSG_VERSION, OP_START, 7 }, .id = "ione", .request = "req-1", .flags = flags,
		.limits = limits };
	size_t n = sizeof m;

	memcpy(m.template_key, KEY, sizeof m.template_key);
	if (flags & (START_KEPT | START_RESTORE))
		memcpy(m.from, "kone", 5);
	if (with & WITH_POLICY)
		n += m.n_policy = (uint32_t)put_policy(p + n);
	if (with & WITH_MOUNTS) {
		m.n_mounts = 2;
		n += PUT(p + n, mounts);
	}
	(void)PUT(p, m);
	return n;
}

static size_t put_network(uint8_t *p, bool policy)
{
	struct msg_network m = { { MSG_VERSION, OP_NETWORK, 7 }, .id = "ione", .flags = NETWORK_NO_INTERNET };

	m.n_policy = policy ? (uint32_t)put_policy(p + sizeof m) : 0;
	return PUT(p, m) + m.n_policy;
}

/* A request of each type, in its simplest form. */
static size_t put_request(uint8_t *p, enum msg_type op)
{
	const struct msg_head h = { MSG_VERSION, (uint16_t)op, 7 };

	switch (op) {
	case OP_START:
		return put_start(p, 0, WITH_NOTHING);
	case OP_NETWORK:
		return put_network(p, false);
	case OP_LIMIT:
		return PUT(p, (struct msg_limit) { h, .id = "ione", .limits = limits });
	case OP_SNAPSHOT:
	case OP_CHECKPOINT:
		return PUT(p, (struct msg_keep) { h, .id = "ione", .name = "kone" });
	case OP_DIAL:
		return PUT(p, (struct msg_dial) { h, .id = "ione", .port = 8080, .family = DIAL_V6 });
	case OP_PULL:
		return PUT(p, (struct msg_pull) { h, .ref = "ubuntu:22.04" });
	case OP_TLS_FILE:
		return PUT(p, (struct msg_tls_file) { h, .which = TLS_FILE_KEY });
	case OP_AUDIT:
		return PUT(p, (struct msg_audit) { h, .what = AUDIT_NEXT, .n = 2 });
	case OP_VOLUME:
		return PUT(p, (struct msg_volume) { h, .name = "vone", .bytes = 4096 });
	case OP_LOG_LEVEL:
		return PUT(p, (struct msg_level) { h, .level = 1 });
	case OP_KEPT:
	case OP_LIST:
	case OP_ROOM:
	case OP_SERVES:
	case OP_VOLUMES:
		return PUT(p, (struct msg_list) { h });
	default:
		return PUT(p, (struct msg_id) { h, .id = "ione" }); /* msg_name is the same */
	}
}

static size_t put_special(uint8_t *p, size_t i)
{
	switch (i) {
	case 0:
		return put_start(p, START_NO_INTERNET | START_PATIENT, WITH_POLICY);
	case 1:
		return put_start(p, START_KEPT, WITH_MOUNTS);
	case 2:
		return put_start(p, START_RESTORE, WITH_ALL);
	case 3:
		return put_start(p, START_IMAGE, WITH_NOTHING);
	case 4:
		return put_network(p, true);
	case 5:
		return PUT(p,
		    (struct msg_keep) { { MSG_VERSION, OP_CHECKPOINT, 8 }, .id = "ione", .name = "kone", .request = "r",
			.flags = KEEP_FLAGS_ALL });
	case 6:
		return PUT(p, (struct msg_pull) { { MSG_VERSION, OP_PULL, 8 }, .what = PULL_COLLECT, .idle_s = 60 });
	default:
		return 0;
	}
}

static size_t put_record(uint8_t *p)
{
	struct record rec = { .stage = RECORD_LIVE,
		.frozen = true,
		.er = { .pid = 4711, .pid_start = 99, .started_wall_ms = 1 } };
	size_t n;

	(void)str_copy(rec.er.spec.id, sizeof rec.er.spec.id, STR_LIT("ione"));
	(void)str_copy(rec.er.spec.template_key, sizeof rec.er.spec.template_key, STR_LIT(KEY));
	(void)str_copy(rec.er.boot_id, sizeof rec.er.boot_id, STR_LIT("01234567-89ab-cdef-0123-456789abcdef"));
	n = record_encode(&rec, (char *)p);
	MUST(record_decode(p, n, &rec) == 0);
	return n;
}

size_t fuzz_seed(size_t i, uint8_t *p)
{
	const size_t n_requests = OP_COUNT - OP_START;
	struct proto pr = fresh();
	enum msg_type type;
	size_t n = i < n_requests ? put_request(p, (enum msg_type)(OP_START + i)) : put_special(p, i - n_requests);

	if (n == 0)
		return i == n_requests + 7 ? put_record(p) : 0;
	const char *why = proto_check(&pr, p, n, 0, &type);

	if (why) /* a new request that is not in put_request(), or one that has changed */
		fprintf(stderr, "request %u: %s\n", ((struct msg_head *)p)->type, why);
	MUST(!why);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto pr = fresh();
	_Alignas(8) char msg[MSG_MAX];
	struct record rec;
	enum msg_type type;

	if (proto_check(&pr, data, size, 0, &type) == NULL) {
		uint32_t n_policy = 0, n_mounts = 0;

		MUST(type > OP_HELLO && type < OP_COUNT && size <= sizeof msg && size >= msg_size(type));
		memcpy(msg, data, size);
		if (type == OP_START) {
			n_policy = ((struct msg_start *)msg)->n_policy;
			n_mounts = ((struct msg_start *)msg)->n_mounts;
		} else if (type == OP_NETWORK)
			n_policy = ((struct msg_network *)msg)->n_policy;
		MUST(n_mounts <= MOUNTS_MAX && size == msg_size(type) + n_policy + n_mounts * sizeof(struct msg_mount));
		if (type != OP_LIST && type != OP_LOG_LEVEL && type != OP_KEPT && type != OP_TLS_FILE &&
		    type != OP_AUDIT && type != OP_PULL && type != OP_ROOM && type != OP_SERVES)
			must_be_label(((struct msg_id *)msg)->id);
		if (type == OP_START) {
			const struct msg_start *m = (struct msg_start *)msg;

			/* What is kept may be of a template that is gone. */
			MUST(strcmp(m->template_key, KEY) == 0 ||
			    (m->flags & (START_KEPT | START_RESTORE | START_IMAGE)));
			MUST(m->limits.mem_bytes - 1 < 1u << 30 && m->limits.pids - 1 < 512 &&
			    m->limits.open_files - 1 < 1024);
		}
	}
	MUST(proto_check(&pr, data, size, 1, &type) != NULL);
	if (record_decode(data, size, &rec) == 0) {
		must_be_label(rec.er.spec.id);
		free(rec.policy);
	}
	return 0;
}
