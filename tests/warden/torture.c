/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the warden everything that a taken-over front could send, and shows that it refuses and keeps serving.
 *
 *	torture ATOLLD EGRESS AGENT [INIT KEY]	as root: starts that atolld with itself as the front, reads its log,
 *						judges
 *	(started by atolld)			as the front: one step of the list per life
 *
 * The warden ends a front that breaks the rules, so a life notes which step it is about to take and the driver finds in
 * the log of the warden what came of it. ATOLL_TORTURE names the directory of notes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/engine.h"
#include "ipc/msg.h"
#include "ipc/policy.h"

#define FAKE_SENT 4711 /* by fake_engine.c */
#define LINK 3
#define UNKNOWN_KEY "00000000000000000000000000000000"
#define STEP_MS 20000 /* for hangs alone */
#define SKIP 77

static char notes[256];
static struct msg_welcome welcome;
static uint32_t next_seq = 1;

/* --- the front ---------------------------------------------------------------------------------------------- */

static void note(const char *text)
{
	char path[300], line[300];
	int n = snprintf(line, sizeof line, "%s\n", text);

	(void)snprintf(path, sizeof path, "%s/notes", notes);
	autoclose int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		_exit(9);
}

static __attribute__((noreturn)) void wrong(const char *what)
{
	char text[200];

	(void)snprintf(text, sizeof text, "WRONG %s", what);
	note(text);
	(void)pause();
	_exit(8);
}

static struct msg_head head(unsigned type)
{
	return (struct msg_head) { MSG_VERSION, (uint16_t)type, next_seq++ };
}

static void out(const void *p, size_t n, size_t n_fds)
{
	int fds[FD_PASS_MAX] = { 0 };

	if (fd_send(LINK, p, n, fds, n_fds) != (ssize_t)n)
		wrong("could not send");
}

/* The next message within a time; its type, 0 when there is none, -1 when the link is closed. The sockets to
 * atoll-egress and atoll-agent, which may come at any time, are not what these tests are about. */
static int in(void *msg, int *fd)
{
	struct pollfd pf = { .fd = LINK, .events = POLLIN };
	size_t n_fds = 0;

	if (poll(&pf, 1, STEP_MS) <= 0)
		return 0;
	memset(msg, 0, MSG_MAX);
	ssize_t n = fd_recv(LINK, msg, MSG_MAX, fd, 1, &n_fds);
	if (n_fds == 0)
		*fd = -1;
	uint16_t type = n > 0 ? ((struct msg_head *)msg)->type : 0;

	if (type == EV_EGRESS || type == EV_AGENT || type == EV_WEBHOOKS) {
		if (n_fds != 1)
			wrong("no socket to a helper");
		fd_close(*fd);
		return in(msg, fd);
	}
	return n <= 0 ? -1 : ((struct msg_head *)msg)->type;
}

static void hello(void)
{
	struct msg_hello m = { head(OP_HELLO) };
	char msg[MSG_MAX];
	int fd;

	out(&m, sizeof m, 0);
	if (in(msg, &fd) != RE_HELLO)
		wrong("no welcome");
	memcpy(&welcome, msg, sizeof welcome);
}

static struct msg_start sound_start(const char *id)
{
	struct msg_start m;

	memset(&m, 0, sizeof m);
	m.head = head(OP_START);
	(void)snprintf(m.id, sizeof m.id, "%s", id);
	memcpy(m.template_key, welcome.templates[0].key, sizeof m.template_key);
	m.limits = welcome.defaults;
	return m;
}

static struct msg_id about(unsigned type, const char *id)
{
	struct msg_id m;

	memset(&m, 0, sizeof m);
	m.head = head(type);
	(void)snprintf(m.id, sizeof m.id, "%s", id);
	return m;
}

/* Steps: each sends one thing that must end this life. `why` is what the warden logs. */
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

static const struct {
	const char *name, *why;
	void (*send)(void);
} steps[] = {
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

/* Waits for the answer to a request, and checks it. Events in between are handed back by type. */
static void expect(int want, int no, const char *what)
{
	char msg[MSG_MAX];
	int fd, type;

	do {
		type = in(msg, &fd);
		fd_close(fd);
	} while (type == RE_LIST_ITEM);
	if (type != want || (want == RE_ERROR && ((struct msg_error *)msg)->no != no))
		wrong(what);
}

/* What it has sent counts to its end, also where the counters are gone by then. */
static void expect_exit(const char *what)
{
	char msg[MSG_MAX];
	int fd, type = in(msg, &fd);

	fd_close(fd);
	if (type != EV_EXITED || (getenv("ATOLL_TORTURE_FAKE") && ((struct msg_exited *)msg)->sent_bytes != FAKE_SENT))
		wrong(what);
}

static void ask(unsigned type, const char *id, int want, int no, const char *what)
{
	struct msg_id m = about(type, id);

	out(&m, sizeof m, 0);
	expect(want, no, what);
}

static void start(const char *id, int want, int no)
{
	struct msg_start m = sound_start(id);

	out(&m, sizeof m, 0);
	expect(want, no, id);
}

static unsigned count(void)
{
	struct msg_list m = { head(OP_LIST) };
	char msg[MSG_MAX];
	unsigned n = 0;
	int fd, type;

	out(&m, sizeof m, 0);
	while ((type = in(msg, &fd)) == RE_LIST_ITEM)
		n++;
	if (type != RE_OK)
		wrong("list");
	return n;
}

static void connects(const char *id)
{
	struct msg_id m = about(OP_CONNECT, id);
	char msg[MSG_MAX];
	int fd;

	out(&m, sizeof m, 0);
	if (in(msg, &fd) != RE_OK || fd < 0)
		wrong("connect gives an fd");
	fd_close(fd);
}

/* Whether somebody listens there is not for the warden to wait for. */
static void dials(const char *id, bool known)
{
	static const uint8_t families[] = { DIAL_V4, DIAL_V6 };
	char msg[MSG_MAX];
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		struct msg_dial m = { .head = head(OP_DIAL), .port = 65535, .family = families[i] };

		memcpy(m.id, id, strlen(id));
		out(&m, sizeof m, 0);
		if (!known) {
			expect(RE_ERROR, ENOENT, "dial of an unknown id");
			continue;
		}
		if (in(msg, &fd) != RE_OK || fd < 0)
			wrong("dial gives an fd");
		fd_close(fd);
	}
}

static uint32_t keep(enum msg_type op, const char *id, const char *name)
{
	struct msg_keep m = { .head = head(op) };

	(void)snprintf(m.id, sizeof m.id, "%s", id);
	(void)snprintf(m.name, sizeof m.name, "%s", name);
	out(&m, sizeof m, 0);
	return m.head.seq;
}

/* What answers come in which order, by seq. */
static void expect_seq(uint32_t seq, int type, int no, const char *what)
{
	_Alignas(8) char msg[MSG_MAX];
	int fd, got = in(msg, &fd);
	const struct msg_error *m = (const struct msg_error *)msg;

	if (got != type || m->head.seq != seq || (got == RE_ERROR && m->no != no))
		wrong(what);
}

/* An error and an answer, in whichever order: on a busy host the second may be ready before the first was asked for. */
static void expect_two(uint32_t seq, int type, int no, uint32_t other, int other_type, const char *what)
{
	_Alignas(8) char msg[MSG_MAX];
	const struct msg_error *m = (const struct msg_error *)msg;
	bool seen = false, other_seen = false;
	int fd;

	for (int i = 0; i < 2; i++) {
		int got = in(msg, &fd);

		seen = seen || (got == type && m->head.seq == seq && m->no == no);
		other_seen = other_seen || (got == other_type && m->head.seq == other);
	}
	if (!seen || !other_seen)
		wrong(what);
}

static void keeps(void)
{
	struct msg_list list = { head(OP_KEPT) };
	struct msg_name name = { .head = head(OP_FORGET), .name = "kone" };

	(void)keep(OP_SNAPSHOT, "inobody", "kone");
	expect(RE_ERROR, ENOENT, "snapshot of an unknown id");
	(void)keep(OP_SNAPSHOT, "ione", "kone");
	expect(RE_ERROR, EBUSY, "snapshot of what is not frozen");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze");
	(void)keep(OP_SNAPSHOT, "ione", "kone");
	expect(RE_OK, 0, "snapshot");
	(void)keep(OP_SNAPSHOT, "ione", "kfull");
	expect(RE_ERROR, ENOSPC, "snapshot on a full disk");
	(void)keep(OP_CHECKPOINT, "ione", "kcrash");
	expect(RE_ERROR, EIO, "a keeper that died");
	/* While its memory is read it stays frozen, and only one may do that; then it is thawed, and the image comes to
	 * nothing. */
	uint32_t first = keep(OP_CHECKPOINT, "ione", "kone"), second = keep(OP_CHECKPOINT, "ione", "ktwo");

	expect_seq(second, RE_ERROR, EBUSY, "two checkpoints at once");
	struct msg_id thaw = about(OP_THAW, "ione");

	out(&thaw, sizeof thaw, 0);
	expect_seq(first, RE_ERROR, ECANCELED, "a checkpoint of what was thawed");
	expect_seq(thaw.head.seq, RE_OK, 0, "thaw after the dump");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze again");
	(void)keep(OP_CHECKPOINT, "ione", "kone");
	expect(RE_IMAGE, 0, "checkpoint");
	ask(OP_THAW, "ione", RE_OK, 0, "thaw");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze once more");
	struct msg_keep brief = { .head = head(OP_CHECKPOINT),
		.id = "ione",
		.name = "kone",
		.flags = KEEP_THAW | KEEP_BRIEF };

	out(&brief, sizeof brief, 0);
	expect_seq(brief.head.seq, RE_RELEASED, 0, "it runs again");
	expect_two(keep(OP_SNAPSHOT, "ione", "ktwo"), RE_ERROR, EBUSY, brief.head.seq, RE_IMAGE,
	    "it is not frozen any more, and is kept");
	out(&list, sizeof list, 0);
	expect(RE_KEPT_ITEM, 0, "the first kept");
	expect(RE_KEPT_ITEM, 0, "the second kept");
	expect(RE_OK, 0, "the end of what is kept");
	out(&name, sizeof name, 0);
	expect(RE_OK, 0, "forget");
}

static void volume(unsigned op, const char *name)
{
	struct msg_volume make = { .bytes = 4096 };
	struct msg_name other;

	memset(&other, 0, sizeof other);
	make.head = other.head = head(op);
	(void)snprintf(make.name, sizeof make.name, "%s", name);
	(void)snprintf(other.name, sizeof other.name, "%s", name);
	if (op == OP_VOLUME)
		out(&make, sizeof make, 0);
	else
		out(&other, sizeof other, 0);
}

/* A connection to whoever serves it, as soon as there is a place. */
static int volume_place(void)
{
	char msg[MSG_MAX];

	for (int i = 0; i < 1000; i++) {
		int fd = -1;

		volume(OP_VOLUME_CONNECT, "vone");
		int type = in(msg, &fd);

		if (type == RE_OK && fd >= 0)
			return fd;
		if (type != RE_ERROR || ((struct msg_error *)msg)->no != EBUSY)
			break;
		(void)usleep(20000);
	}
	wrong("there is no place to serve a volume");
}

/* Served one at a time per place; who lets go of a connection gives the place back. */
static void serve_volumes(void)
{
	int fds[ENGINE_VOLUME_PLACES];
	bool taken[ENGINE_VOLUME_PLACES] = { false };
	char c;

	for (size_t i = 0; i < ENGINE_VOLUME_PLACES; i++) {
		fds[i] = volume_place(); /* whoever could not serve may not have ended yet */
		if (read(fds[i], &c, 1) != 1 || c < 0 || c >= ENGINE_VOLUME_PLACES || taken[(int)c])
			wrong("a place to serve a volume");
		taken[(int)c] = true;
	}
	volume(OP_VOLUME_CONNECT, "vone");
	expect(RE_ERROR, EBUSY, "all places are taken");
	for (size_t i = 0; i < ENGINE_VOLUME_PLACES; i++)
		fd_close(fds[i]);
	fd_close(volume_place());
}

static void volumes(void)
{
	struct msg_list list = { head(OP_VOLUMES) };

	volume(OP_VOLUME, "vone");
	expect(RE_OK, 0, "make a volume");
	volume(OP_VOLUME, "vfull");
	expect(RE_ERROR, ENOSPC, "make a volume on a full disk");
	volume(OP_VOLUME, "vcrash");
	expect(RE_ERROR, EIO, "a child that died");
	volume(OP_VOLUME_CONNECT, "vnone");
	expect(RE_ERROR, ENOENT, "serve a volume that is not there");
	serve_volumes();
	out(&list, sizeof list, 0);
	expect(RE_VOLUME_ITEM, 0, "a volume");
	expect(RE_OK, 0, "the end of the volumes");
	volume(OP_VOLUME_DROP, "vbusy");
	expect(RE_ERROR, EAGAIN, "drop a volume later");
	volume(OP_VOLUME_DROP, "vone");
	expect(RE_OK, 0, "drop a volume");
}

static void limits(void)
{
	struct msg_limit m = { .head = head(OP_LIMIT), .id = "ione", .limits = welcome.defaults };

	out(&m, sizeof m, 0);
	expect(RE_OK, 0, "limit");
	if (!getenv("ATOLL_TORTURE_FAKE"))
		return;
	m.limits.pids = 13;
	out(&m, sizeof m, 0);
	expect(RE_ERROR, EBUSY, "a limit that the engine refuses");
}

/* After all that it serves: unknown ids are only errors, limits hold, a sandbox runs and survives this front. */
static __attribute__((noreturn)) void serve_first(void)
{
	static const unsigned types[] = { OP_KILL, OP_FREEZE, OP_THAW, OP_CONNECT, OP_USAGE };

	hello();
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		ask(types[i], "inobody", RE_ERROR, ENOENT, "unknown id");
	dials("inobody", false);
	if (count() != 0)
		wrong("nothing runs yet");
	start("ione", RE_OK, 0);
	start("ione", RE_ERROR, EEXIST);
	start("itwo", RE_OK, 0);
	start("ithree", RE_ERROR, EMFILE);
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze again");
	ask(OP_THAW, "ione", RE_OK, 0, "thaw");
	ask(OP_USAGE, "ione", RE_USAGE, 0, "usage");
	limits();
	connects("ione");
	dials("ione", true);
	ask(OP_KILL, "itwo", RE_OK, 0, "kill");
	expect_exit("exit of itwo is told");
	if (getenv("ATOLL_TORTURE_FAKE")) {
		keeps();
		volumes();
		start("fail1", RE_ERROR, ENOSPC);
		start("crash1", RE_ERROR, EIO);
		start("half1", RE_ERROR, EIO);
	}
	note("serve 2");
	_exit(0);
}

static __attribute__((noreturn)) void serve_again(void)
{
	hello();
	if (count() != 1)
		wrong("the sandbox survived the front");
	connects("ione");
	ask(OP_KILL, "ione", RE_OK, 0, "kill");
	expect_exit("exit of ione is told");
	if (count() != 0)
		wrong("it is gone");
	start("ifour", RE_OK, 0);
	note("done");
	char msg[MSG_MAX];
	int fd, type;

	while ((type = in(msg, &fd)) == 0)
		;
	note(type == EV_SHUTDOWN ? "shutdown" : "WRONG no shutdown");
	_exit(0);
}

static int front_main(void)
{
	char path[300], text[32768];
	size_t taken = 0;

	(void)snprintf(path, sizeof path, "%s/notes", notes);
	if (file_read(AT_FDCWD, path, text, sizeof text) < 0)
		return 9;
	for (const char *at = text; (at = strstr(at, "step ")); at += 5)
		taken++;
	if (strstr(text, "serve 2"))
		serve_again();
	if (taken >= ARRAY_LEN(steps))
		serve_first();
	char line[100];

	(void)snprintf(line, sizeof line, "step %s", steps[taken].name);
	note(line);
	steps[taken].send();
	char msg[MSG_MAX];
	int fd;

	if (in(msg, &fd) == -1)
		(void)pause(); /* closed, as it should be; the signal follows */
	wrong(steps[taken].name);
}

/* --- the driver --------------------------------------------------------------------------------------------- */

static bool notes_have(const char *what, char *text, size_t size)
{
	char path[300];

	(void)snprintf(path, sizeof path, "%s/notes", notes);
	return file_read(AT_FDCWD, path, text, size) >= 0 && strstr(text, what);
}

/* Each step must have been answered by ending the front, for the reason that belongs to it, in this order. */
static int judge(const char *log)
{
	int bad = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		char want[120];

		(void)snprintf(want, sizeof want, "dropping the front\",\"kv\":\"why=%s\"", steps[i].why);
		const char *drop = strstr(log, "dropping the front");
		bool ok = drop && strncmp(drop, want, strlen(want)) == 0;

		(void)printf("%s %s: %s\n", ok ? "ok" : "NOT OK", steps[i].name, steps[i].why);
		if (!ok)
			bad++;
		if (drop)
			log = drop + 1;
	}
	return bad;
}

static pid_t spawn(char *const argv[], const char *log)
{
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		(void)dup2(fd, STDERR_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		(void)execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static int finish(pid_t pid, const char *log_path)
{
	static char log[1 << 20], text[32768];
	int status = 0, bad = 0;

	(void)kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		(void)printf("NOT OK atolld ends with 0 after SIGTERM (status %x)\n", (unsigned)status);
		bad++;
	}
	if (file_read(AT_FDCWD, log_path, log, sizeof log) < 0)
		return 1;
	bad += judge(log);
	if (!notes_have("shutdown", text, sizeof text) || strstr(text, "WRONG")) {
		size_t n = strlen(log);

		(void)printf("NOT OK it keeps serving; notes:\n%s\nlog:\n%s\n", text, n > 3000 ? log + n - 3000 : log);
		bad++;
	} else {
		(void)printf("ok it keeps serving\n");
	}
	return bad ? 1 : 0;
}

static int drive(const char *atolld, const char *egress, const char *agent, const char *init, const char *key)
{
	char dir[] = "/tmp/atoll-torture-XXXXXX", self[300], log[300], state[300], run[300], tmpl[80], text[32768];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (geteuid() != 0) {
		(void)printf("skipped: needs root\n");
		return SKIP;
	}
	if (n < 0 || !mkdtemp(dir) || chmod(dir, 0755) < 0)
		return 1;
	self[n] = '\0';
	(void)snprintf(notes, sizeof notes, "%s", dir);
	(void)snprintf(log, sizeof log, "%s/notes", dir);
	fd_close(open(log, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	(void)chmod(log, 0666);
	(void)snprintf(log, sizeof log, "%s/log", dir);
	(void)snprintf(state, sizeof state, "%s/state", dir);
	(void)snprintf(run, sizeof run, "%s/run", dir);
	(void)snprintf(tmpl, sizeof tmpl, "base=%s", key);
	(void)setenv("ATOLL_TORTURE", dir, 1);
	char *argv[] = { (char *)atolld, "--listen", "127.0.0.1:0", "--state", state, "--run", run, "--egress",
		(char *)egress, "--agent", (char *)agent, "--init", (char *)init, "--template", tmpl, "--front", self,
		"--restart-max-ms", "1", "--max-sandboxes", "2", "--user", "nobody", "--egress-user", "nobody",
		"--pool-size-mb", "512", NULL };
	pid_t pid = spawn(argv, log);
	uint64_t end = clock_mono_ms() + 120000;

	while (clock_mono_ms() < end && waitpid(pid, NULL, WNOHANG) == 0 && !notes_have("done", text, sizeof text) &&
	    !notes_have("WRONG", text, sizeof text))
		(void)usleep(20000);
	int r = finish(pid, log);

	if (r == 0) {
		char cmd[300];

		(void)snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
		r = system(cmd) == 0 ? 0 : 1;
	}
	return r;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("ATOLL_TORTURE");

	if (dir) {
		(void)snprintf(notes, sizeof notes, "%s", dir);
		return front_main();
	}
	if (argc != 4 && argc != 6) {
		(void)fprintf(stderr, "usage: torture ATOLLD EGRESS [INIT KEY]\n");
		return 2;
	}
	if (argc == 6)
		return drive(argv[1], argv[2], argv[3], argv[4], argv[5]);
	(void)setenv("ATOLL_TORTURE_FAKE", "1", 1);
	return drive(argv[1], argv[2], argv[3], "/proc/self/exe", "0123456789abcdef0123456789abcdef");
}
