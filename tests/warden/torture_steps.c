/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a taken-over front could send: each step sends one thing that must end its life. */
#include <string.h>

#include "base/fd.h"
#include "ipc/policy.h"
#include "torture.h"

#define UNKNOWN_KEY "00000000000000000000000000000000"

static void second_hello(void)
{
	hello();
	struct msg_hello m = { head(OP_HELLO) };
	out(&m, sizeof m, 0);
}
static void list_first(void)
{
	struct msg_list m = { head(OP_LIST) };
	out(&m, sizeof m, 0);
}
static void start_first(void)
{
	struct msg_start m = sound_start("ione");
	out(&m, sizeof m, 0);
}
static void kill_first(void)
{
	struct msg_id m = about(OP_KILL, "ione");
	out(&m, sizeof m, 0);
}
static void three_bytes(void)
{
	hello();
	out("abc", 3, 0);
}
static void head_alone(void)
{
	hello();
	struct msg_head m = head(OP_START);
	out(&m, sizeof m, 0);
}
static void one_less(void)
{
	hello();
	struct msg_id m = about(OP_KILL, "ione");
	out(&m, sizeof m - 1, 0);
}
static void one_more(void)
{
	hello();
	char b[sizeof(struct msg_list) + 1] = { 0 };
	struct msg_head m = head(OP_LIST);
	memcpy(b, &m, sizeof m);
	out(b, sizeof b, 0);
}
static void far_too_large(void)
{
	hello();
	static char b[65536];
	struct msg_head m = head(OP_LIST);
	memcpy(b, &m, sizeof m);
	out(b, sizeof b, 0);
}
static void largest(void)
{
	hello();
	static char b[MSG_MAX];
	struct msg_head m = head(OP_START);
	memcpy(b, &m, sizeof m);
	out(b, sizeof b, 0);
}
static void op_none(void)
{
	hello();
	struct msg_head m = head(MSG_NONE);
	out(&m, sizeof m, 0);
}
static void op_count(void)
{
	hello();
	struct msg_head m = head(OP_COUNT);
	out(&m, sizeof m, 0);
}
static void op_answer(void)
{
	hello();
	struct msg_head m = head(RE_OK);
	out(&m, sizeof m, 0);
}
static void op_event(void)
{
	hello();
	struct msg_exited m = { .head = head(EV_EXITED), .id = "ione" };
	out(&m, sizeof m, 0);
}
static void op_huge(void)
{
	hello();
	struct msg_head m = head(65535);
	out(&m, sizeof m, 0);
}
static void version(void)
{
	hello();
	struct msg_list m = { head(OP_LIST) };
	m.head.version = MSG_VERSION + 1;
	out(&m, sizeof m, 0);
}
static void no_seq(void)
{
	hello();
	struct msg_list m = { head(OP_LIST) };
	m.head.seq = 0;
	out(&m, sizeof m, 0);
}
static void one_fd(void)
{
	hello();
	struct msg_list m = { head(OP_LIST) };
	out(&m, sizeof m, 1);
}
static void fd_to_start(void)
{
	hello();
	struct msg_start m = sound_start("ione");
	out(&m, sizeof m, 1);
}
static void many_fds(void)
{
	hello();
	struct msg_list m = { head(OP_LIST) };
	out(&m, sizeof m, 5);
}
static void empty_packet(void)
{
	hello();
	out("", 0, 0);
}

static void bad_id(unsigned type, const char *bytes, size_t n)
{
	hello();
	struct msg_id m = about(type, "");

	memcpy(m.id, bytes, n);
	out(&m, sizeof m, 0);
}

static void id_empty(void)
{
	bad_id(OP_KILL, "", 1);
}
static void id_capital(void)
{
	bad_id(OP_KILL, "iOne", 5);
}
static void id_path(void)
{
	bad_id(OP_CONNECT, "../etc", 7);
}
static void id_open_end(void)
{
	bad_id(OP_USAGE, "aaaaaaaaaaaaaaaaaaaaaaaa", ID_SIZE);
}
static void id_tail(void)
{
	bad_id(OP_FREEZE, "ione\0x", 6);
}
static void id_high(void)
{
	bad_id(OP_THAW, "i\xffne", 5);
}

static void request_blank(void)
{
	hello();
	struct msg_id m = about(OP_KILL, "ione");
	memcpy(m.request, "a b", 3);
	out(&m, sizeof m, 0);
}
static void request_long(void)
{
	hello();
	struct msg_id m = about(OP_KILL, "ione");
	memset(m.request, 'a', REQUEST_ID_MAX + 1);
	out(&m, sizeof m, 0);
}
static void request_tail(void)
{
	hello();
	struct msg_start m = sound_start("ione");
	m.request[REQUEST_ID_SIZE - 1] = 'x';
	out(&m, sizeof m, 0);
}
static void net_flag(void)
{
	hello();
	struct msg_network m = { .head = head(OP_NETWORK), .id = "ione", .flags = 2 };
	out(&m, sizeof m, 0);
}
static void net_short(void)
{
	hello();
	struct msg_network m = { .head = head(OP_NETWORK), .id = "ione", .n_policy = 8 };
	out(&m, sizeof m, 0);
}

/* A policy of one entry behind a request, in its sound form. */
struct net_and_policy {
	struct msg_network m;
	struct policy_head head;
	struct policy_net net;
};

static struct net_and_policy sound_network(void)
{
	return (struct net_and_policy) {
		.m = { .head = head(OP_NETWORK),
		    .id = "ione",
		    .n_policy = sizeof(struct policy_head) + sizeof(struct policy_net) },
		.head = { .flags = POLICY_DENY_ALL, .n_nets = 1 },
		.net = { .ip = 0x01010100, .len = 24, .allow = 1, .port_hi = 65535 },
	};
}

/* A network request that is sound but for one field of its policy. */
#define BAD_POLICY(name, change) \
	static void name(void) \
	{ \
		hello(); \
		struct net_and_policy p = sound_network(); \
		change; \
		out(&p, sizeof p, 0); \
	}

BAD_POLICY(net_long, p.m.n_policy -= 4)
BAD_POLICY(net_count, p.head.n_nets = 2)
BAD_POLICY(net_count_huge, p.head.n_nets = 65535)
BAD_POLICY(net_names, p.head.n_names = 1)
BAD_POLICY(net_policy_flag, p.head.flags = 0x10)
BAD_POLICY(net_host_bits, p.net.ip = 0x01010101)
BAD_POLICY(net_len, p.net.len = 33)
BAD_POLICY(net_ports, p.net.port_lo = 90; p.net.port_hi = 80)
BAD_POLICY(net_pad, p.net.pad[1] = 1)
BAD_POLICY(net_allow, p.net.allow = 2)

static void net_id(void)
{
	hello();
	struct msg_network m = { .head = head(OP_NETWORK), .id = "../x" };
	out(&m, sizeof m, 0);
}
static void tls_file(void)
{
	hello();
	struct msg_tls_file m = { .head = head(OP_TLS_FILE), .which = 3 };
	out(&m, sizeof m, 0);
}
static void tls_file_pad(void)
{
	hello();
	struct msg_tls_file m = { .head = head(OP_TLS_FILE), .which = 1, .pad = { 1 } };
	out(&m, sizeof m, 0);
}
static void audit_what(void)
{
	hello();
	struct msg_audit m = { .head = head(OP_AUDIT), .what = AUDIT_WHATS, .n = 1 };
	out(&m, sizeof m, 0);
}
static void audit_last_n(void)
{
	hello();
	struct msg_audit m = { .head = head(OP_AUDIT), .what = AUDIT_LAST, .n = 1 };
	out(&m, sizeof m, 0);
}
static void audit_next_0(void)
{
	hello();
	struct msg_audit m = { .head = head(OP_AUDIT), .what = AUDIT_NEXT };
	out(&m, sizeof m, 0);
}
static void keep_name(void)
{
	hello();
	struct msg_keep m = { .head = head(OP_SNAPSHOT), .id = "ione", .name = "k+d" };
	out(&m, sizeof m, 0);
}
static void keep_id(void)
{
	hello();
	struct msg_keep m = { .head = head(OP_CHECKPOINT), .id = "", .name = "kone" };
	out(&m, sizeof m, 0);
}
static void keep_flag(void)
{
	hello();
	struct msg_keep m = { .head = head(OP_SNAPSHOT), .id = "ione", .name = "kone", .flags = KEEP_THAW };
	out(&m, sizeof m, 0);
}
static void keep_pad(void)
{
	hello();
	struct msg_keep m = { .head = head(OP_CHECKPOINT), .id = "ione", .name = "kone", .pad = { 1 } };
	out(&m, sizeof m, 0);
}
static void forget_path(void)
{
	hello();
	struct msg_name m = { .head = head(OP_FORGET), .name = "../../etc" };
	out(&m, sizeof m, 0);
}
static void forget_open_end(void)
{
	hello();
	struct msg_name m = { .head = head(OP_FORGET) };
	memset(m.name, 'k', sizeof m.name);
	out(&m, sizeof m, 0);
}
static void volume_name(void)
{
	hello();
	struct msg_volume m = { .head = head(OP_VOLUME), .name = "v/x" };
	out(&m, sizeof m, 0);
}
static void volume_drop_name(void)
{
	hello();
	struct msg_name m = { .head = head(OP_VOLUME_DROP), .name = ".." };
	out(&m, sizeof m, 0);
}
static void volume_connect_name(void)
{
	hello();
	struct msg_name m = { .head = head(OP_VOLUME_CONNECT), .name = "v+v" };
	out(&m, sizeof m, 0);
}

static void bad_dial(struct msg_dial m)
{
	hello();
	m.head = head(OP_DIAL);
	out(&m, sizeof m, 0);
}
static void dial_id(void)
{
	bad_dial((struct msg_dial) { .id = "../etc", .port = 80, .family = DIAL_V4 });
}
static void dial_port(void)
{
	bad_dial((struct msg_dial) { .id = "ione", .family = DIAL_V4 });
}
static void dial_family(void)
{
	bad_dial((struct msg_dial) { .id = "ione", .port = 80, .family = 2 });
}
static void dial_pad(void)
{
	bad_dial((struct msg_dial) { .id = "ione", .port = 80, .family = DIAL_V6, .pad = { 0, 0, 0, 0, 1 } });
}
static void dial_request(void)
{
	bad_dial((struct msg_dial) { .id = "ione", .request = "a/b", .port = 80, .family = DIAL_V4 });
}

static void mount_path(void)
{
	struct {
		struct msg_start m;
		struct msg_mount mount;
	} all = { .mount = { .name = "vone", .path = "/data/../../etc" } };

	hello();
	all.m = sound_start("ione");
	all.m.n_mounts = 1;
	out(&all, sizeof all, 0);
}

static void level_high(void)
{
	hello();
	struct msg_level m = { .head = head(OP_LOG_LEVEL), .level = 4 };
	out(&m, sizeof m, 0);
}

/* A start that is sound but for one field. */
#define BAD_START(name, change) \
	static void name(void) \
	{ \
		hello(); \
		struct msg_start m = sound_start("ione"); \
		change; \
		out(&m, sizeof m, 0); \
	}

BAD_START(start_id_empty, memset(m.id, 0, sizeof m.id))
BAD_START(start_id_open_end, memset(m.id, 'a', sizeof m.id))
BAD_START(start_id_dash, m.id[1] = '-')
BAD_START(key_unknown, memcpy(m.template_key, UNKNOWN_KEY, sizeof m.template_key))
BAD_START(key_capital, m.template_key[0] = 'A')
BAD_START(key_short, m.template_key[31] = '\0')
BAD_START(key_open_end, m.template_key[32] = 'a')
BAD_START(key_path, memcpy(m.template_key, "../../../../../../../../../../etc", sizeof m.template_key))
BAD_START(pad_used, m.pad[6] = 1)
BAD_START(flag_unknown, m.flags = START_FLAGS_ALL + 1)
BAD_START(from_unused, memcpy(m.from, "kone", 5))
BAD_START(from_twice, memcpy(m.from, "kone", 5); m.flags = START_KEPT | START_RESTORE)
BAD_START(from_missing, m.flags = START_RESTORE)
BAD_START(from_path, memcpy(m.from, "../x", 5); m.flags = START_KEPT)
BAD_START(flag_high, m.flags = 0x80000000u)
BAD_START(mem_none, m.limits.mem_bytes = 0)
BAD_START(mem_much, m.limits.mem_bytes = welcome.maxima.mem_bytes + 1)
BAD_START(mem_all, m.limits.mem_bytes = UINT64_MAX)
BAD_START(disk_none, m.limits.disk_bytes = 0)
BAD_START(disk_much, m.limits.disk_bytes = welcome.maxima.disk_bytes + 1)
BAD_START(cpu_none, m.limits.cpu_permille = 0)
BAD_START(cpu_much, m.limits.cpu_permille = welcome.maxima.cpu_permille + 1)
BAD_START(pids_none, m.limits.pids = 0)
BAD_START(pids_much, m.limits.pids = UINT32_MAX)
BAD_START(files_none, m.limits.open_files = 0)
BAD_START(files_much, m.limits.open_files = UINT32_MAX)
BAD_START(swap_much, m.limits.swap_bytes = UINT64_MAX)

static void limit_much(void)
{
	hello();
	struct msg_limit m = { .head = head(OP_LIMIT), .id = "ione", .limits = welcome.defaults };

	m.limits.mem_bytes = welcome.maxima.mem_bytes + 1;
	out(&m, sizeof m, 0);
}

const struct step steps[] = {
	{ "hello twice", "not in this phase", second_hello },
	{ "list before hello", "not in this phase", list_first },
	{ "start before hello", "not in this phase", start_first },
	{ "kill before hello", "not in this phase", kill_first },
	{ "three bytes", "shorter than a head", three_bytes },
	{ "start without a body", "wrong size", head_alone },
	{ "kill one byte short", "wrong size", one_less },
	{ "list one byte long", "wrong size", one_more },
	{ "start of the largest size", "wrong size", largest },
	{ "packet of 64 kB", "packet too large or too many fds", far_too_large },
	{ "empty packet", "closed", empty_packet },
	{ "request 0", "unknown request", op_none },
	{ "request past the last", "unknown request", op_count },
	{ "an answer as a request", "unknown request", op_answer },
	{ "an event as a request", "unknown request", op_event },
	{ "request 65535", "unknown request", op_huge },
	{ "another version", "wrong version", version },
	{ "sequence number 0", "no sequence number", no_seq },
	{ "a foreign fd with list", "wrong number of fds", one_fd },
	{ "a foreign fd with start", "wrong number of fds", fd_to_start },
	{ "five foreign fds", "packet too large or too many fds", many_fds },
	{ "kill: empty id", "bad sandbox id", id_empty },
	{ "kill: capital in id", "bad sandbox id", id_capital },
	{ "connect: path as id", "bad sandbox id", id_path },
	{ "dial: path as id", "bad sandbox id", dial_id },
	{ "dial: port 0", "no such port", dial_port },
	{ "dial: another family", "no such family", dial_family },
	{ "dial: padding used", "padding is not zero", dial_pad },
	{ "dial: slash in request id", "bad request id", dial_request },
	{ "usage: id without end", "bad sandbox id", id_open_end },
	{ "freeze: bytes behind id", "bad sandbox id", id_tail },
	{ "thaw: high byte in id", "bad sandbox id", id_high },
	{ "kill: blank in request id", "bad request id", request_blank },
	{ "kill: request id too long", "bad request id", request_long },
	{ "start: bytes behind request id", "bad request id", request_tail },
	{ "network: unknown flag", "unknown flags", net_flag },
	{ "network: policy missing", "wrong size", net_short },
	{ "network: bytes behind the policy", "wrong size", net_long },
	{ "network: an entry missing", "bad policy", net_count },
	{ "network: more entries than allowed", "bad policy", net_count_huge },
	{ "network: a name missing", "bad policy", net_names },
	{ "network: unknown flag in the policy", "bad policy", net_policy_flag },
	{ "network: host bits in a range", "bad policy", net_host_bits },
	{ "network: prefix of 33 bits", "bad policy", net_len },
	{ "network: ports upside down", "bad policy", net_ports },
	{ "network: padding used", "bad policy", net_pad },
	{ "network: neither allowed nor denied", "bad policy", net_allow },
	{ "network: path as id", "bad sandbox id", net_id },
	{ "log level: out of range", "no such log level", level_high },
	{ "tls file: unknown", "no such file", tls_file },
	{ "trail: unknown act", "no such thing to do with the trail", audit_what },
	{ "trail: last with a number", "bad segment", audit_last_n },
	{ "trail: next without", "bad segment", audit_next_0 },
	{ "tls file: padding", "padding is not zero", tls_file_pad },
	{ "start: empty id", "bad sandbox id", start_id_empty },
	{ "start: id without end", "bad sandbox id", start_id_open_end },
	{ "start: dash in id", "bad sandbox id", start_id_dash },
	{ "start: unknown template", "unknown template", key_unknown },
	{ "start: capital in key", "bad template key", key_capital },
	{ "start: short key", "bad template key", key_short },
	{ "start: key without end", "bad template key", key_open_end },
	{ "start: path as key", "bad template key", key_path },
	{ "start: padding used", "padding is not zero", pad_used },
	{ "start: unknown flag", "unknown flags", flag_unknown },
	{ "start: high flag", "unknown flags", flag_high },
	{ "start: a name that is not used", "a name without a use", from_unused },
	{ "start: from a disk and from a memory", "two ways to start", from_twice },
	{ "start: from nothing", "bad name", from_missing },
	{ "start: from a path", "bad name", from_path },
	{ "snapshot: name of a directory", "bad name", keep_name },
	{ "checkpoint: empty id", "bad sandbox id", keep_id },
	{ "snapshot: a flag of the other", "unknown flags", keep_flag },
	{ "checkpoint: padding used", "padding is not zero", keep_pad },
	{ "forget: path as name", "bad name", forget_path },
	{ "forget: name without end", "bad name", forget_open_end },
	{ "volume: path as name", "bad name", volume_name },
	{ "volume: dots as name", "bad name", volume_drop_name },
	{ "volume: another's name", "bad name", volume_connect_name },
	{ "start: a mount that goes up", "bad mount", mount_path },
	{ "start: no memory", "limits out of range", mem_none },
	{ "start: a byte too much memory", "limits out of range", mem_much },
	{ "start: all memory", "limits out of range", mem_all },
	{ "start: no disk", "limits out of range", disk_none },
	{ "start: a byte too much disk", "limits out of range", disk_much },
	{ "start: no cpu", "limits out of range", cpu_none },
	{ "start: too much cpu", "limits out of range", cpu_much },
	{ "start: no pids", "limits out of range", pids_none },
	{ "start: too many pids", "limits out of range", pids_much },
	{ "start: no open files", "limits out of range", files_none },
	{ "start: too many open files", "limits out of range", files_much },
	{ "start: too much swap", "limits out of range", swap_much },
	{ "limit: a byte too much memory", "limits out of range", limit_much },
};
const size_t n_steps = ARRAY_LEN(steps);
