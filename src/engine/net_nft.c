/* SPDX-License-Identifier: Apache-2.0 */
/* net_nft: the firewall of an instance. */
#include "engine/net_nft.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/slot.h"

#define RULES_MAX (1 << 20)
#define CONNECTIONS_MAX 2048		/* at once per sandbox: the host's table of connections is shared */

void nft_put_ip(struct buf *out, uint32_t ip)
{
	buf_fmt(out, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
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
		buf_fmt(out, "%s\"at%us%u\"%s", i ? ", " : "\t\telements = { ", n, slots[i], i + 1 == n_slots ? " }\n" : "");
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

	buf_z(out, "\t# a packet from a sandbox counts only with the interface, MAC and address of one and the same slot\n"
		   "\tset pins {\n\t\ttype ifname . ether_addr . ipv4_addr\n\t\telements = {");
	for (uint32_t k = 0; k < c->slots; k++) {
		slot_fill(n, k, &s);
		buf_fmt(out, "%s\n\t\t\t\"%s\" . %02x:%02x:%02x:%02x:%02x:%02x . ", k ? "," : "", s.veth, s.mac[0], s.mac[1],
			s.mac[2], s.mac[3], s.mac[4], s.mac[5]);
		nft_put_ip(out, s.ip);
	}
	buf_z(out, "\n\t\t}\n\t}\n");
	put_slots(out, "silent", n, c->silent, c->n_silent);
	put_slots(out, "waiting", n, c->waiting, c->n_waiting);
	put_slots(out, "mute", n, NULL, 0);
	put_ranges(out, "private", closed, inet_private(closed));
	put_ranges(out, "opened", c->open_ranges, c->n_open_ranges);
	buf_z(out, "\tmap ruled {\n\t\ttype ifname : verdict\n\t}\n"
		   "\tmap diverted {\n\t\ttype ifname : verdict\n\t}\n"
		   "\tmap capped {\n\t\ttype ifname : quota\n\t}\n"	/* net_cap.c */
		   "\tmap paced {\n\t\ttype ifname : limit\n\t}\n");
	buf_fmt(out, "\tset connections {\n\t\ttype ipv4_addr\n\t\tflags dynamic\n\t\tsize %u\n\t}\n", 2 * c->slots + 64);
}

static void put_input(struct buf *out, const struct nft_config *c, const char *gw)
{
	buf_fmt(out, "\tchain input {\n"
		     "\t\ttype filter hook input priority filter - 5; policy accept;\n"
		     "\t\tiifname != \"at%us*\" accept\n"
		     "\t\tiifname @waiting drop\n"
		     "\t\tiifname @silent jump refuse\n"	/* names too: a query can carry anything out */
		     "\t\tlimit name iifname map @paced drop\n"
		     "\t\tquota name iifname map @capped jump refuse\n"
		     "\t\tct state new add @connections { ip saddr ct count over %u } drop\n", c->instance, CONNECTIONS_MAX);
	if (c->proxy_port)	/* only what was on its way elsewhere */
		buf_fmt(out, "\t\tip daddr %s tcp dport %u ct status dnat accept\n", gw, c->proxy_port);
	buf_fmt(out, "\t\tiifname @mute jump refuse\n"
		     "\t\tip daddr %s meta l4proto { tcp, udp } th dport 53 accept\n"
		     "\t\tip daddr %s icmp type echo-request accept\n"
		     "\t\tjump refuse\n\t}\n", gw, gw);
}

/* What the proxy connects to for a sandbox is nothing that the sandbox could not reach. It asks name servers, wherever they are. */
static void put_outside(struct buf *out)
{
	buf_z(out, "\tchain outside {\n"
		   "\t\tmeta l4proto { tcp, udp } th dport 53 return\n"
		   "\t\tmeta nfproto ipv6 jump refuse\n"
		   "\t\tip daddr @opened return\n"
		   "\t\tip daddr @private jump refuse\n"
		   "\t\tfib daddr type local jump refuse\n\t}\n");
}

static void put_chains(struct buf *out, const struct nft_config *c)
{
	uint32_t n = c->instance;
	struct slot s;
	char gw[16];

	slot_fill(n, 0, &s);
	(void)inet_ntop(AF_INET, &(struct in_addr) { htonl(s.gateway) }, gw, sizeof gw);
	buf_fmt(out, "\tchain early {\n"
		     "\t\ttype filter hook prerouting priority raw; policy accept;\n"
		     "\t\tiifname != \"at%us*\" accept\n"
		     "\t\tmeta protocol ip iifname . ether saddr . ip saddr @pins accept\n"
		     "\t\tdrop\n\t}\n", n);
	buf_fmt(out, "\tchain divert {\n"
		     "\t\ttype nat hook prerouting priority dstnat; policy accept;\n"
		     "\t\tiifname != \"at%us*\" accept\n"
		     "\t\tip daddr @private ip daddr != @opened accept\n"
		     "\t\tiifname vmap @diverted\n\t}\n", n);
	/* Refused at once and not left to hang. */
	buf_z(out, "\tchain refuse {\n"
		   "\t\tmeta l4proto tcp reject with tcp reset\n"
		   "\t\treject with icmpx type admin-prohibited\n\t}\n");
	put_input(out, c, gw);
	/* The policy is asked for every packet, not only the first of a connection: a new one cuts off what it forbids. */
	buf_fmt(out, "\tchain forward {\n"
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
		     "\t\tadd @connections { ip saddr ct count over %u } jump refuse\n\t}\n", n, n, n, CONNECTIONS_MAX);
	if (c->egress_uid)
		put_outside(out);
	buf_z(out, "\tchain output {\n"
		   "\t\ttype filter hook output priority filter - 5; policy accept;\n");
	if (c->egress_uid)
		buf_fmt(out, "\t\tmeta skuid %u ct state new oifname != \"at%us*\" jump outside\n", c->egress_uid, n);
	buf_fmt(out, "\t\toifname != \"at%us*\" accept\n"
		     "\t\tct state established,related accept\n"
		     "\t\tip saddr %s accept\n"
		     "\t\tdrop\n\t}\n", n, gw);
	buf_fmt(out, "\tchain source {\n"
		     "\t\ttype nat hook postrouting priority srcnat; policy accept;\n"
		     "\t\tiifname \"at%us*\" oifname != \"at%us*\" masquerade\n\t}\n", n, n);
}

void nft_ruleset(struct buf *out, const struct nft_config *c)
{
	/* Added first, so that deleting what may not be there is no error. */
	buf_fmt(out, "table inet atoll%u\ndelete table inet atoll%u\ntable inet atoll%u {\n", c->instance, c->instance, c->instance);
	put_sets(out, c);
	put_chains(out, c);
	buf_z(out, "}\n");
}

/* The error is one line of what the library has to say. */
int nft_run(const char *text, struct err *e)
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

int nft_load(const struct nft_config *c, struct err *e)
{
	autobuf struct buf b = BUF_INIT(RULES_MAX);

	nft_ruleset(&b, c);
	const char *text = buf_cstr(&b);

	if (!text)
		return err_set(e, ENOMEM, "write the firewall rules");
	return nft_run(text, e) < 0 ? err_wrap(e, "load the firewall rules") : 0;
}

void nft_unload(uint32_t instance)
{
	char text[64];
	struct err e;

	(void)snprintf(text, sizeof text, "table inet atoll%u\ndelete table inet atoll%u\n", instance, instance);
	(void)nft_run(text, &e);
}

static void put_batch_mark(struct mnl_nlmsg_batch *b, uint16_t type)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(mnl_nlmsg_batch_current(b));
	struct nfgenmsg *g;

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST;
	g = mnl_nlmsg_put_extra_header(h, sizeof *g);
	g->version = NFNETLINK_V0;
	g->res_id = htons(NFNL_SUBSYS_NFTABLES);
	(void)mnl_nlmsg_batch_next(b);
}

static void put_element(struct mnl_nlmsg_batch *b, uint32_t instance, uint32_t slot, bool on)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(mnl_nlmsg_batch_current(b));
	struct nfgenmsg *g;
	struct slot s;
	char table[24], key[SLOT_NAME_SIZE] = "";

	slot_fill(instance, slot, &s);
	memcpy(key, s.veth, sizeof key);		/* the key is the name with zeros up to its full length */
	(void)snprintf(table, sizeof table, "atoll%u", instance);
	h->nlmsg_type = (NFNL_SUBSYS_NFTABLES << 8) | (on ? NFT_MSG_NEWSETELEM : NFT_MSG_DELSETELEM);
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (on ? NLM_F_CREATE : 0);
	g = mnl_nlmsg_put_extra_header(h, sizeof *g);
	g->nfgen_family = NFPROTO_INET;
	g->version = NFNETLINK_V0;
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_TABLE, table);
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_SET, "silent");
	struct nlattr *list = mnl_attr_nest_start(h, NFTA_SET_ELEM_LIST_ELEMENTS);
	struct nlattr *elem = mnl_attr_nest_start(h, NFTA_LIST_ELEM);
	struct nlattr *data = mnl_attr_nest_start(h, NFTA_SET_ELEM_KEY);

	mnl_attr_put(h, NFTA_DATA_VALUE, sizeof key, key);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, elem);
	mnl_attr_nest_end(h, list);
	(void)mnl_nlmsg_batch_next(b);
}

int nft_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	return fd < 0 ? -errno : fd;
}

static int ask(int fd, const void *p, size_t n)
{
	char answer[4096];
	ssize_t got;

	if (send(fd, p, n, 0) < 0)
		return -errno;
	do
		got = recv(fd, answer, sizeof answer, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	const struct nlmsghdr *h = (const struct nlmsghdr *)answer;

	if (!mnl_nlmsg_ok(h, (int)got) || h->nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(h))->error;
}

/* By hand and not through the library, which would read the whole table first: this runs in the warden's loop. */
int nft_silence(int fd, uint32_t instance, uint32_t slot, bool on, struct err *e)
{
	char buf[2048];
	struct mnl_nlmsg_batch *b = mnl_nlmsg_batch_start(buf, sizeof buf / 2);

	if (!b)
		return err_set(e, ENOMEM, "change the firewall");
	put_batch_mark(b, NFNL_MSG_BATCH_BEGIN);
	put_element(b, instance, slot, on);
	put_batch_mark(b, NFNL_MSG_BATCH_END);
	int r = ask(fd, mnl_nlmsg_batch_head(b), mnl_nlmsg_batch_size(b));

	mnl_nlmsg_batch_stop(b);
	if (r == -ENOENT && !on)		/* not in there: as it should be */
		return 0;
	return r < 0 ? err_set(e, -r, "%s the network: %s", on ? "close" : "open", strerror(-r)) : 0;
}
