/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a request of the front either has all the properties that the warden's handlers rely on, or is refused. */
#include <string.h>

#include "fuzz.h"
#include "ipc/check.h"
#include "warden/proto.h"
#include "warden/records.h"

#define KEY "0123456789abcdef0123456789abcdef"

static void must_be_label(const char *id)
{
	size_t n = strnlen(id, ID_SIZE);

	MUST(n >= 1 && n < ID_SIZE);
	MUST(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct msg_template templates[] = { { "base", KEY } };
	struct proto pr = { .phase = PHASE_SERVE, .maxima = { 1u << 30, 1u << 30, 2000, 512, .open_files = 1024 }, .templates = templates, .n_templates = 1 };
	_Alignas(8) char msg[MSG_MAX];
	struct record rec;
	enum msg_type type;

	if (proto_check(&pr, data, size, 0, &type) == NULL) {
		uint32_t n_policy = 0;

		MUST(type > OP_HELLO && type < OP_COUNT && size <= sizeof msg && size >= msg_size(type));
		memcpy(msg, data, size);
		if (type == OP_START)
			n_policy = ((struct msg_start *)msg)->n_policy;
		else if (type == OP_NETWORK)
			n_policy = ((struct msg_network *)msg)->n_policy;
		MUST(size == msg_size(type) + n_policy);
		if (type != OP_LIST && type != OP_LOG_LEVEL && type != OP_KEPT && type != OP_TLS_FILE && type != OP_TRAIL && type != OP_PULL && type != OP_ROOM)
			must_be_label(((struct msg_id *)msg)->id);
		if (type == OP_START) {
			const struct msg_start *m = (struct msg_start *)msg;

			/* What is kept may be of a template that is gone. */
			MUST(strcmp(m->template_key, KEY) == 0 || (m->flags & (START_KEPT | START_RESTORE | START_IMAGE)));
			MUST(m->limits.mem_bytes - 1 < 1u << 30 && m->limits.pids - 1 < 512 && m->limits.open_files - 1 < 1024);
		}
	}
	MUST(proto_check(&pr, data, size, 1, &type) != NULL);
	if (record_decode(data, size, &rec) == 0) {
		must_be_label(rec.er.spec.id);
		free(rec.policy);
	}
	return 0;
}
