/* SPDX-License-Identifier: Apache-2.0 */
/* net_nft: the firewall of an instance. */
#include "engine/net/nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <nftables/libnftables.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inet.h"
#include "base/preamble.h"
#include "engine/net/nft_wire.h"
#include "engine/slot.h"

#define RULES_MAX (2 << 20)
#define CONNECTIONS_MAX 2048 /* per sandbox: the host's connection tracking table is shared */
/* Per sandbox, to the server: stops a sandbox that calls itself in a loop. */
#define NAMES_CONNECTIONS_MAX 128
#define QUERIES_PER_S 500u /* DNS queries over UDP */
#define QUERIES_BURST 1000u
#define NOTED_PER_MIN 10u /* recorded refusals per sandbox */
#define NOTED_BURST 10u

void nft_put_ip(struct buf *out, uint32_t ip)
{
	char text[INET_TEXT_SIZE];

	buf_z(out, inet_text(ip, text));
}

void nft_put_range(struct buf *out, struct inet_range r)
{
	nft_put_ip(out, r.ip);
	if (r.len < 32)
		buf_fmt(out, "/%u", r.len);
}

static void put_slots(struct buf *out, const char *set, uint32_t n, const uint32_t *slots, size_t n_slots)
{
	buf_fmt(out, "\tset %s {\n\t\ttype ifname\n", set);
	for (size_t i = 0; i < n_slots; i++)
		buf_fmt(out, "%s\"at%us%u\"%s", i ? ", " : "\t\telements = { ", n, slots[i],
		    i + 1 == n_slots ? " }\n" : "");
	buf_z(out, "\t}\n");
}

static void put_ranges(struct buf *out, const char *set, const struct inet_range *r, size_t n)
{
	buf_fmt(out, "\tset %s {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\tauto-merge\n", set);
	for (size_t i = 0; i < n; i++) {
		buf_z(out, i ? ", " : "\t\telements = { ");
		nft_put_range(out, r[i]);
	}
	buf_z(out, n ? " }\n\t}\n" : "\t}\n");
}

static void put_sets(struct buf *out, const struct nft_config *c)
{
	struct inet_range closed[INET_PRIVATE_MAX];
	uint32_t n = c->instance;
	struct slot s;

	buf_z(out,
	    "\t# a packet from a sandbox counts only with the interface, MAC and address of one and the same slot\n"
	    "\tset pins {\n\t\ttype ifname . ether_addr . ipv4_addr\n\t\telements = {");
	for (uint32_t k = 0; k < c->slots; k++) {
		slot_fill(n, k, &s);
		buf_fmt(out, "%s\n\t\t\t\"%s\" . %02x:%02x:%02x:%02x:%02x:%02x . ", k ? "," : "", s.veth, s.mac[0],
		    s.mac[1], s.mac[2], s.mac[3], s.mac[4], s.mac[5]);
		nft_put_ip(out, s.ip);
	}
	buf_z(out, "\n\t\t}\n\t}\n");
	put_slots(out, "silent", n, c->silent, c->n_silent);
	put_slots(out, "waiting", n, c->waiting, c->n_waiting);
	put_slots(out, "mute", n, NULL, 0);
	put_ranges(out, "private", closed, inet_private(closed));
	put_ranges(out, "opened", c->open_ranges, c->n_open_ranges);
	buf_z(out,
	    "\tmap ruled {\n\t\ttype ifname : verdict\n\t}\n"
	    "\tmap diverted {\n\t\ttype ifname : verdict\n\t}\n"
	    "\tmap capped {\n\t\ttype ifname : quota\n\t}\n" /* cap.c */
	    "\tmap paced {\n\t\ttype ifname : limit\n\t}\n");
	buf_fmt(out, "\tset connections {\n\t\ttype ipv4_addr\n\t\tflags dynamic\n\t\tsize %u\n\t}\n",
	    2 * c->slots + 64);
	buf_fmt(out, "\tset callers {\n\t\ttype ipv4_addr\n\t\tflags dynamic\n\t\tsize %u\n\t}\n", 2 * c->slots + 64);
	buf_fmt(out, "\tset noted {\n\t\ttype ifname\n\t\tflags dynamic\n\t\tsize %u\n\t}\n", 2 * c->slots + 64);
	buf_fmt(out,
	    "\tset refused {\n\t\ttype ifname . ipv4_addr . inet_proto . inet_service\n\t\tflags dynamic\n\t\tsize "
	    "%u\n\t}\n",
	    4 * c->slots + 256);
	buf_fmt(out, "\tset queries {\n\t\ttype ipv4_addr\n\t\tflags dynamic\n\t\tsize %u\n\t}\n", 2 * c->slots + 64);
}

static void put_input(struct buf *out, const struct nft_config *c, const char *gw)
{
	buf_fmt(out,
	    "\tchain input {\n"
	    "\t\ttype filter hook input priority filter - 5; policy accept;\n"
	    "\t\tiifname != \"at%us*\" accept\n"
	    /* Answers of an init that the host has called over TCP (engine/greet.h), whatever the sandbox may reach. */
	    "\t\ttcp sport %u ct direction reply ct state established accept\n"
	    "\t\tiifname @waiting drop\n"
	    "\t\tiifname @silent jump refuse\n" /* DNS too: a query can carry any data out */
	    "\t\tlimit name iifname map @paced drop\n"
	    "\t\tquota name iifname map @capped jump refuse\n"
	    "\t\tct state new add @connections { ip saddr ct count over %u } drop\n",
	    c->instance, PREAMBLE_PORT, CONNECTIONS_MAX);
	if (c->proxy_port) /* only connections that were diverted */
		buf_fmt(out, "\t\tip daddr %s tcp dport %u ct status dnat accept\n", gw, c->proxy_port);
	/* Likewise: only connections to the address of the names that have passed put_names(). */
	if (c->names_port)
		buf_fmt(out,
		    "\t\tip daddr %s tcp dport %u ct status dnat ct state new add @callers { ip saddr ct count over %u "
		    "} jump refuse\n"
		    "\t\tip daddr %s tcp dport %u ct status dnat accept\n",
		    gw, c->names_door, NAMES_CONNECTIONS_MAX, gw, c->names_door);
	buf_fmt(out,
	    "\t\tiifname @mute jump refuse\n"
	    /* All sandboxes share one resolver and its queue: a flood from one must not displace the others'
	     * queries. */
	    "\t\tudp dport 53 add @queries { ip saddr limit rate over %u/second burst %u packets } drop\n"
	    "\t\tip daddr %s meta l4proto { tcp, udp } th dport 53 accept\n"
	    "\t\tip daddr %s icmp type echo-request accept\n"
	    "\t\tjump refuse\n\t}\n",
	    QUERIES_PER_S, QUERIES_BURST, gw, gw);
}

/* The proxy must not connect to anything that the sandbox itself could not reach. It may query name servers
 * anywhere. */
static void put_outside(struct buf *out)
{
	buf_z(out,
	    "\tchain outside {\n"
	    "\t\tmeta l4proto { tcp, udp } th dport 53 return\n"
	    "\t\tmeta nfproto ipv6 jump refuse\n"
	    "\t\tip daddr @opened return\n"
	    "\t\tip daddr @private jump refuse\n"
	    "\t\tfib daddr type local jump refuse\n\t}\n");
}

/* The server's own host names have an address that no interface has. The sandbox's policy applies to packets to
 * that address like to any other, before they are redirected to the server. */
static void put_names(struct buf *out, const struct nft_config *c, const char *names)
{
	buf_fmt(out,
	    "\tchain names {\n"
	    "\t\ttype filter hook prerouting priority mangle; policy accept;\n"
	    "\t\tiifname != \"at%us*\" accept\n"
	    "\t\tip daddr != %s accept\n"
	    "\t\ttcp dport != %u accept\n"
	    "\t\tiifname vmap @ruled\n\t}\n",
	    c->instance, names, c->names_port);
}

static void put_chains(struct buf *out, const struct nft_config *c)
{
	uint32_t n = c->instance;
	struct slot s;
	char gw[INET_TEXT_SIZE], names[INET_TEXT_SIZE];

	slot_fill(n, 0, &s);
	(void)inet_text(s.gateway, gw);
	(void)inet_text(s.names, names);
	buf_fmt(out,
	    "\tchain early {\n"
	    "\t\ttype filter hook prerouting priority raw; policy accept;\n"
	    "\t\tiifname != \"at%us*\" accept\n"
	    "\t\tmeta protocol ip iifname . ether saddr . ip saddr @pins accept\n"
	    "\t\tdrop\n\t}\n",
	    n);
	if (c->names_port)
		put_names(out, c, names);
	buf_fmt(out,
	    "\tchain divert {\n"
	    "\t\ttype nat hook prerouting priority dstnat; policy accept;\n"
	    "\t\tiifname != \"at%us*\" accept\n",
	    n);
	if (c->names_port)
		buf_fmt(out, "\t\tip daddr %s tcp dport %u dnat ip to %s:%u\n", names, c->names_port, gw,
		    c->names_door);
	buf_z(out,
	    "\t\tip daddr @private ip daddr != @opened accept\n"
	    "\t\tiifname vmap @diverted\n\t}\n");
	/* Refuses at once instead of letting connections hang; records a few refusals per sandbox for the audit
	 * trail (refused.c). */
	buf_fmt(out,
	    "\tchain refuse {\n"
	    "\t\tiifname \"at%us*\" meta l4proto { tcp, udp } iifname . ip daddr . meta l4proto . th dport != @refused "
	    "add @noted { iifname limit rate %u/minute burst %u packets } add @refused { iifname . ip daddr . meta "
	    "l4proto . th dport }\n",
	    n, NOTED_PER_MIN, NOTED_BURST);
	buf_z(out,
	    "\t\tmeta l4proto tcp reject with tcp reset\n"
	    "\t\treject with icmpx type admin-prohibited\n\t}\n");
	put_input(out, c, gw);
	/* The policy is checked for every packet, not only the first of a connection: a new policy cuts off what
	 * it forbids. */
	buf_fmt(out,
	    "\tchain forward {\n"
	    "\t\ttype filter hook forward priority filter - 5; policy accept;\n"
	    "\t\toifname \"at%us*\" ct state established,related accept\n"
	    "\t\toifname \"at%us*\" jump refuse\n"
	    "\t\tiifname != \"at%us*\" accept\n"
	    "\t\tiifname @waiting drop\n"
	    "\t\tiifname @silent jump refuse\n"
	    "\t\tlimit name iifname map @paced drop\n"
	    "\t\tquota name iifname map @capped jump refuse\n"
	    "\t\tip daddr @private ip daddr != @opened jump refuse\n"
	    "\t\tiifname vmap @ruled\n"
	    "\t\tct state established,related accept\n"
	    "\t\tct state invalid drop\n"
	    "\t\tadd @connections { ip saddr ct count over %u } jump refuse\n\t}\n",
	    n, n, n, CONNECTIONS_MAX);
	if (c->egress_uid)
		put_outside(out);
	buf_z(out,
	    "\tchain output {\n"
	    "\t\ttype filter hook output priority filter - 5; policy accept;\n");
	if (c->egress_uid)
		buf_fmt(out, "\t\tmeta skuid %u ct state new oifname != \"at%us*\" jump outside\n", c->egress_uid, n);
	buf_fmt(out,
	    "\t\toifname != \"at%us*\" accept\n"
	    "\t\tct state established,related accept\n"
	    "\t\tip saddr %s accept\n"
	    "\t\tdrop\n\t}\n",
	    n, gw);
	buf_fmt(out,
	    "\tchain source {\n"
	    "\t\ttype nat hook postrouting priority srcnat; policy accept;\n"
	    "\t\tiifname \"at%us*\" oifname != \"at%us*\" masquerade\n\t}\n",
	    n, n);
}

void nft_ruleset(struct buf *out, const struct nft_config *c)
{
	/* Added first, so that deleting a missing table is no error. */
	buf_fmt(out, "table inet atoll%u\ndelete table inet atoll%u\ntable inet atoll%u {\n", c->instance, c->instance,
	    c->instance);
	put_sets(out, c);
	put_chains(out, c);
	buf_z(out, "}\n");
}

/* The error is the first line of the library's message. */
static int run_here(const char *text, struct err *e)
{
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	int r = 0;

	if (!nft)
		return err_set(e, ENOMEM, "set up nftables");
	(void)nft_ctx_buffer_output(nft);
	(void)nft_ctx_buffer_error(nft);
	if (nft_run_cmd_from_buffer(nft, text) != 0) {
		const char *why = nft_ctx_get_error_buffer(nft);
		int no = errno ? errno : EIO;

		r = err_set(e, no, "%.*s", why ? (int)strcspn(why, "\n") : 0, why ? why : "");
	}
	nft_ctx_free(nft);
	return r;
}

static __attribute__((noreturn)) void child(const char *text, int report)
{
	const struct rlimit no_core = { 0, 0 };
	struct err e = ERR_INIT;

	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)run_here(text, &e);
	(void)fd_write_all(report, &e, sizeof e);
	_exit(0);
}

/* Runs in a child, because the library first reads all tables of the host, also those that other programs made
 * with a newer version: some of them crash the library of Debian 12. */
int nft_run(const char *text, struct err *e)
{
	autoclose int report = -1, told = -1;
	struct err re;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe for nftables");
	report = fds[1];
	told = fds[0];
	pid_t pid = fork();

	if (pid < 0)
		return err_sys(e, "start a process for nftables");
	if (pid == 0)
		child(text, report);
	fd_close(take_fd(&report));
	int r = fd_read_all(told, &re, sizeof re);
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		; /* other code may reap all children: only its report counts */
	if (r < 0)
		return err_set(e, EIO,
		    "nftables died%s%s while it read the tables of this host: one of them may be of a newer version",
		    WIFSIGNALED(status) ? " of signal " : "",
		    WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "");
	if (re.no) {
		*e = re;
		return -re.no;
	}
	return 0;
}

int nft_load(const struct nft_config *c, struct err *e)
{
	autobuf struct buf b = BUF_INIT(RULES_MAX);

	nft_ruleset(&b, c);
	const char *text = buf_cstr(&b);

	if (!text)
		return err_set(e, ENOMEM, "write the firewall rules");
	return nft_run(text, e) < 0 ? err_wrap(e, "load the firewall rules") : 0;
}

/* What follows encodes messages itself, without the library: see nft_wire.h. */

struct change {
	uint32_t instance, slot;
	const char *name;
	uint32_t type; /* type of an object */
	bool on;
};

static void put_membership(void *at, const void *what)
{
	const struct change *c = what;
	struct nlmsghdr *h = nft_head(at, c->on ? NFT_MSG_NEWSETELEM : NFT_MSG_DELSETELEM,
	    NLM_F_ACK | (c->on ? NLM_F_CREATE : 0));
	struct slot s;
	char table[NFT_TABLE_SIZE], key[SLOT_NAME_SIZE] = "";

	slot_fill(c->instance, c->slot, &s);
	memcpy(key, s.veth, sizeof key); /* the key is the name, padded with zeros to its full length */
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_TABLE, nft_table(table, c->instance));
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_SET, c->name);
	struct nlattr *list = mnl_attr_nest_start(h, NFTA_SET_ELEM_LIST_ELEMENTS);
	struct nlattr *elem = mnl_attr_nest_start(h, NFTA_LIST_ELEM);
	struct nlattr *data = mnl_attr_nest_start(h, NFTA_SET_ELEM_KEY);

	mnl_attr_put(h, NFTA_DATA_VALUE, sizeof key, key);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, elem);
	mnl_attr_nest_end(h, list);
}

int nft_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	return fd < 0 ? -errno : fd;
}

static void put_table_gone(void *at, const void *what)
{
	const struct change *c = what;
	char table[NFT_TABLE_SIZE];

	mnl_attr_put_strz(nft_head(at, NFT_MSG_DELTABLE, NLM_F_ACK), NFTA_TABLE_NAME, nft_table(table, c->instance));
}

static void put_chain_gone(void *at, const void *what)
{
	const struct change *c = what;
	struct nlmsghdr *h = nft_head(at, NFT_MSG_DELCHAIN, NLM_F_ACK);
	char table[NFT_TABLE_SIZE], name[32];

	(void)snprintf(name, sizeof name, "%s%u", c->name, c->slot);
	mnl_attr_put_strz(h, NFTA_CHAIN_TABLE, nft_table(table, c->instance));
	mnl_attr_put_strz(h, NFTA_CHAIN_NAME, name);
}

static void put_object_gone(void *at, const void *what)
{
	const struct change *c = what;
	struct nlmsghdr *h = nft_head(at, NFT_MSG_DELOBJ, NLM_F_ACK);
	char table[NFT_TABLE_SIZE], name[32];

	(void)snprintf(name, sizeof name, "%s%u", c->name, c->slot);
	mnl_attr_put_strz(h, NFTA_OBJ_TABLE, nft_table(table, c->instance));
	mnl_attr_put_strz(h, NFTA_OBJ_NAME, name);
	mnl_attr_put_u32(h, NFTA_OBJ_TYPE, htonl(c->type));
}

int nft_silence(int fd, uint32_t instance, uint32_t slot, bool on, struct err *e)
{
	int r = nft_change(fd, put_membership, &(struct change) { instance, slot, "silent", .on = on });

	if (r == -ENOENT && !on) /* not a member: as it should be */
		return 0;
	return r < 0 ? err_set(e, -r, "%s the network: %s", on ? "close" : "open", strerror(-r)) : 0;
}

/* One transaction each: a transaction fails as a whole if one object is missing. References are removed before
 * what they refer to. */
int nft_forget(int fd, uint32_t instance, uint32_t slot, struct err *e)
{
	static const struct {
		nft_put *put;
		struct change c;
	} gone[] = {
		{ put_membership, { .name = "ruled" } }, /* policy: policy.c */
		{ put_membership, { .name = "diverted" } },
		{ put_membership, { .name = "mute" } },
		{ put_membership, { .name = "silent" } },
		{ put_membership, { .name = "waiting" } },
		{ put_membership, { .name = "noted" } },
		{ put_chain_gone, { .name = "rules" } },
		{ put_chain_gone, { .name = "divert" } },
		{ put_membership, { .name = "capped" } }, /* limits: cap.c */
		{ put_membership, { .name = "paced" } },
		{ put_object_gone, { .name = "q", .type = NFT_OBJECT_QUOTA } },
		{ put_object_gone, { .name = "r", .type = NFT_OBJECT_LIMIT } },
	};

	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		struct change c = gone[i].c;

		c.instance = instance;
		c.slot = slot;
		int r = nft_change(fd, gone[i].put, &c);

		if (r < 0 && r != -ENOENT)
			return err_set(e, -r, "take '%s' of slot %u out of the firewall: %s", c.name, slot,
			    strerror(-r));
	}
	return 0;
}

void nft_unload(uint32_t instance)
{
	autoclose int fd = nft_open();

	if (fd >= 0)
		(void)nft_change(fd, put_table_gone, &(struct change) { .instance = instance });
}
