/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/proto: what a front may send, and when. */
#include <stdint.h>
#include <string.h>

#include "unit.h"
#include "warden/proto.h"

#define KEY "0123456789abcdef0123456789abcdef"

static const struct msg_template templates[] = { { "base", KEY } };

static struct proto fresh(enum phase phase)
{
	return (struct proto) { .phase = phase,
		.maxima = { 1000, 1000, 1000, 1000, .egress_bytes = 500, .open_files = 1000 },
		.templates = templates,
		.n_templates = 1 };
}

static struct msg_start sound_start(void)
{
	struct msg_start m;

	memset(&m, 0, sizeof m);
	m.head = (struct msg_head) { MSG_VERSION, OP_START, 7 };
	memcpy(m.id, "ione", 5);
	memcpy(m.template_key, KEY, sizeof m.template_key);
	m.limits = (struct msg_limits) { 1000, 1, 1000, 1, .egress_bytes = 500, .open_files = 1 };
	return m;
}

static void assert_refused(struct proto *pr, const void *msg, size_t n, size_t n_fds, const char *why)
{
	enum msg_type t = MSG_NONE;
	const char *got = proto_check(pr, msg, n, n_fds, &t);

	assert_non_null(got);
	assert_string_equal(got, why);
	assert_int_equal(t, MSG_NONE);
}

static void mounts_stand_behind_a_start_and_are_checked(void **state)
{
	struct proto pr = fresh(PHASE_SERVE);
	struct {
		struct msg_start m;
		struct msg_mount mounts[MOUNTS_MAX + 1];
	} all = { .m = sound_start() };
	enum msg_type t;

	(void)state;
	for (size_t i = 0; i <= MOUNTS_MAX; i++)
		all.mounts[i] = (struct msg_mount) { .name = "vone", .path = "/data" };
	all.m.n_mounts = MOUNTS_MAX;
	assert_null(proto_check(&pr, &all, sizeof all - sizeof(struct msg_mount), 0, &t));
	assert_refused(&pr, &all, sizeof all, 0, "wrong size");
	all.m.n_mounts++;
	assert_refused(&pr, &all, sizeof all, 0, "wrong size");
	all.m.n_mounts = UINT32_MAX;
	assert_refused(&pr, &all, sizeof all, 0, "wrong size");
	all.m.n_mounts = 2;
	strcpy(all.mounts[1].path, "/data/../proc");
	assert_refused(&pr, &all, sizeof all.m + 2 * sizeof(struct msg_mount), 0, "bad mount");
	strcpy(all.mounts[1].path, "/dev/shm");
	assert_refused(&pr, &all, sizeof all.m + 2 * sizeof(struct msg_mount), 0, "bad mount");
	all.m.n_mounts = 0;
	all.m.engine = ENGINE_KINDS;
	assert_refused(&pr, &all.m, sizeof all.m, 0, "no such engine");
}

static void hello_opens_the_rest_and_comes_once(void **state)
{
	struct proto pr = fresh(PHASE_NEW);
	struct msg_hello hello = { { MSG_VERSION, OP_HELLO, 1 } };
	struct msg_list list = { { MSG_VERSION, OP_LIST, 2 } };
	enum msg_type t;

	(void)state;
	assert_refused(&pr, &list, sizeof list, 0, "not in this phase");
	assert_null(proto_check(&pr, &hello, sizeof hello, 0, &t));
	assert_int_equal(t, OP_HELLO);
	assert_null(proto_check(&pr, &list, sizeof list, 0, &t));
	assert_int_equal(t, OP_LIST);
	assert_refused(&pr, &hello, sizeof hello, 0, "not in this phase");
	pr.phase = PHASE_NEW;
	assert_refused(&pr, &hello, sizeof hello, 0, "only once");
}

static void every_other_size_is_refused(void **state)
{
	struct proto pr = fresh(PHASE_SERVE);
	char big[MSG_MAX] = { 0 };
	enum msg_type t;

	(void)state;
	for (unsigned op = OP_START; op < OP_COUNT; op++) {
		unsigned taken = 0;

		for (size_t n = 0; n <= sizeof big; n++) {
			struct msg_start m = sound_start();

			m.head.type = (uint16_t)op;
			memcpy(big, &m, sizeof m);
			if (op == OP_LOG_LEVEL) /* has a number where the others have an id */
				memset(big + sizeof m.head, 0, sizeof m - sizeof m.head);
			if (op == OP_SNAPSHOT || op == OP_CHECKPOINT)
				memcpy(big, &(struct msg_keep) { .head = m.head, .id = "ione", .name = "kone" },
				    sizeof(struct msg_keep));
			if (op == OP_LIMIT)
				memcpy(big, &(struct msg_limit) { .head = m.head, .id = "ione", .limits = m.limits },
				    sizeof(struct msg_limit));
			if (op == OP_DIAL)
				memcpy(big,
				    &(struct msg_dial) { .head = m.head, .id = "ione", .port = 80, .family = DIAL_V4 },
				    sizeof(struct msg_dial));
			if (op == OP_PULL)
				memcpy(big, &(struct msg_pull) { .head = m.head, .ref = "ubuntu:22.04" },
				    sizeof(struct msg_pull));
			if (op == OP_TLS_FILE)
				memcpy(big, &(struct msg_tls_file) { .head = m.head, .which = TLS_FILE_KEY },
				    sizeof(struct msg_tls_file));
			if (op == OP_AUDIT)
				memcpy(big, &(struct msg_audit) { .head = m.head, .what = AUDIT_NEXT, .n = 2 },
				    sizeof(struct msg_audit));
			taken += proto_check(&pr, big, n, 0, &t) == NULL;
		}
		assert_int_equal(taken, 1);
	}
}

static void unknown_types_are_refused(void **state)
{
	struct proto pr = fresh(PHASE_SERVE);
	char big[MSG_MAX] = { 0 };

	(void)state;
	for (unsigned op = 0; op <= UINT16_MAX; op++) {
		struct msg_head h = { MSG_VERSION, (uint16_t)op, 1 };

		if (op >= OP_HELLO && op < OP_COUNT)
			continue;
		memcpy(big, &h, sizeof h);
		assert_refused(&pr, big, sizeof h, 0, "unknown request");
	}
}

static void fds_are_refused_with_every_request(void **state)
{
	struct proto pr = fresh(PHASE_SERVE);
	struct msg_start m = sound_start();

	(void)state;
	assert_refused(&pr, &m, sizeof m, 1, "wrong number of fds");
	assert_refused(&pr, &m, sizeof m, 8, "wrong number of fds");
}

static void a_port_is_dialed_at_one_of_two_addresses(void **state)
{
	const struct msg_dial sound = { { MSG_VERSION, OP_DIAL, 7 }, .id = "ione", .port = 65535, .family = DIAL_V6 };
	struct proto pr = fresh(PHASE_SERVE);
	struct msg_dial m = sound;
	enum msg_type t;

	(void)state;
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	assert_int_equal(t, OP_DIAL);
	m.port = 0;
	assert_refused(&pr, &m, sizeof m, 0, "no such port");
	m = sound;
	for (unsigned family = 0; family <= UINT8_MAX; family++) {
		m.family = (uint8_t)family;
		if (family != DIAL_V4 && family != DIAL_V6)
			assert_refused(&pr, &m, sizeof m, 0, "no such family");
	}
	m = sound;
	for (size_t i = 0; i < sizeof m.pad; i++) {
		m.pad[i] = 1;
		assert_refused(&pr, &m, sizeof m, 0, "padding is not zero");
		m.pad[i] = 0;
	}
	m.id[0] = '/';
	assert_refused(&pr, &m, sizeof m, 0, "bad sandbox id");
	m = sound;
	m.request[0] = '/';
	assert_refused(&pr, &m, sizeof m, 0, "bad request id");
}

static void what_is_kept_is_named_or_not_used(void **state)
{
	struct proto pr = fresh(PHASE_SERVE);
	struct msg_start m = sound_start();
	struct msg_keep k = { .head = { MSG_VERSION, OP_CHECKPOINT, 3 }, .id = "ione", .name = "kone" };
	struct msg_name f = { .head = { MSG_VERSION, OP_FORGET, 4 }, .name = "kone" };
	enum msg_type t;

	(void)state;
	memcpy(m.from, "kone", 5);
	assert_refused(&pr, &m, sizeof m, 0, "a name without a use");
	m.flags = START_KEPT | START_RESTORE;
	assert_refused(&pr, &m, sizeof m, 0, "two ways to start");
	m.flags = START_KEPT;
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	m.template_key[0] = 'f'; /* of yesterday */
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	memcpy(m.from, "k+d", 4);
	assert_refused(&pr, &m, sizeof m, 0, "bad name");
	memset(m.from, 0, sizeof m.from);
	m.flags = START_RESTORE;
	assert_refused(&pr, &m, sizeof m, 0, "bad name");
	assert_null(proto_check(&pr, &k, sizeof k, 0, &t));
	memcpy(k.name, "../k", 5);
	assert_refused(&pr, &k, sizeof k, 0, "bad name");
	assert_null(proto_check(&pr, &f, sizeof f, 0, &t));
	f.name[0] = '.';
	assert_refused(&pr, &f, sizeof f, 0, "bad name");
}

static void names_of_images_are_fit_to_be_arguments(void **state)
{
	struct proto pr = fresh(PHASE_SERVE);
	struct msg_pull m = { .head = { MSG_VERSION, OP_PULL, 1 }, .ref = "localhost:5000/a/b:c" };
	struct msg_start s = sound_start();
	enum msg_type t;

	(void)state;
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	memcpy(m.ref, "-", 1);
	assert_refused(&pr, &m, sizeof m, 0, "bad name of an image");
	memcpy(m.ref, "a b", 3);
	assert_refused(&pr, &m, sizeof m, 0, "bad name of an image");
	memset(m.ref, 0, sizeof m.ref);
	assert_refused(&pr, &m, sizeof m, 0, "bad name of an image");
	memset(m.ref, 'a', sizeof m.ref);
	assert_refused(&pr, &m, sizeof m, 0, "bad name of an image");
	m = (struct msg_pull) { .head = m.head, .what = PULL_COLLECT, .idle_s = 5 };
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	m.what = PULL_UPLOAD;
	assert_refused(&pr, &m, sizeof m, 0, "bad kind of pull");
	m.idle_s = 0;
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	m.ref[0] = 'a';
	assert_refused(&pr, &m, sizeof m, 0, "bad name of an image");
	m.what = PULL_WHATS;
	assert_refused(&pr, &m, sizeof m, 0, "bad kind of pull");
	/* Of an image only the warden's disk tells whether it is there. */
	s.template_key[0] = 'f';
	s.flags = START_IMAGE;
	assert_null(proto_check(&pr, &s, sizeof s, 0, &t));
}

static void each_field_of_start_is_checked(void **state)
{
	struct proto pr = fresh(PHASE_SERVE);
	struct msg_start m = sound_start();
	enum msg_type t;

	(void)state;
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	m.id[5] = 'x';
	assert_refused(&pr, &m, sizeof m, 0, "bad sandbox id");
	m = sound_start();
	m.template_key[0] = 'f';
	assert_refused(&pr, &m, sizeof m, 0, "unknown template");
	m.template_key[0] = '.';
	assert_refused(&pr, &m, sizeof m, 0, "bad template key");
	m = sound_start();
	m.pad[0] = 1;
	assert_refused(&pr, &m, sizeof m, 0, "padding is not zero");
	m = sound_start();
	m.flags = START_FLAGS_ALL + 1;
	assert_refused(&pr, &m, sizeof m, 0, "unknown flags");
	m = sound_start();
	m.flags = START_DOCKER;
	assert_refused(&pr, &m, sizeof m, 0, "powers over the kernel of the host");
	m.engine = ENGINE_GVISOR;
	assert_null(proto_check(&pr, &m, sizeof m, 0, &t));
	m = sound_start();
	m.limits.mem_bytes++;
	assert_refused(&pr, &m, sizeof m, 0, "limits out of range");
	m = sound_start();
	m.head.seq = 0;
	assert_refused(&pr, &m, sizeof m, 0, "no sequence number");
	m = sound_start();
	m.head.version++;
	assert_refused(&pr, &m, sizeof m, 0, "wrong version");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_opens_the_rest_and_comes_once),
		cmocka_unit_test(mounts_stand_behind_a_start_and_are_checked),
		cmocka_unit_test(every_other_size_is_refused),
		cmocka_unit_test(unknown_types_are_refused),
		cmocka_unit_test(fds_are_refused_with_every_request),
		cmocka_unit_test(a_port_is_dialed_at_one_of_two_addresses),
		cmocka_unit_test(what_is_kept_is_named_or_not_used),
		cmocka_unit_test(names_of_images_are_fit_to_be_arguments),
		cmocka_unit_test(each_field_of_start_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
