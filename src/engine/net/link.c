/* SPDX-License-Identifier: Apache-2.0 */
/* net_link: interfaces, addresses and routes, by rtnetlink.
 *
 * No address is ever resolved on a sandbox's link: both ends have permanent neighbour entries, and the address
 * inside is a /32 with an on-link gateway, so there is no subnet to scan. Packets that ask not to be routed
 * (SO_DONTROUTE on a socket bound to eth0) are routed back to the sandbox itself: the kernel would take any
 * address for a neighbour, and the neighbour table is shared by the whole host. */
#include "engine/net/link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"
#include "engine/net/ct.h"
#include "engine/slot.h"

#define BATCH_MAX 4096
#define BATCH_MSGS 8
#define RENAME_TRIES 3
#define ATTR_GSO_IPV4_MAX_SIZE 63 /* IFLA_…: newer than the headers of Debian 12 */
#define ATTR_GRO_IPV4_MAX_SIZE 64
#define LOOPBACK_PACKET (256 * 1024) /* larger packets leave a core's caches before they are read */

/* Several requests in one send; the kernel replies to each. */
struct batch {
	int fd;
	size_t n; /* bytes used */
	unsigned count;
	const char *what[BATCH_MSGS];
	struct nlmsghdr *at;
	char buf[BATCH_MAX];
};

static int batch_init(struct batch *b, struct err *e)
{
	b->n = 0;
	b->count = 0;
	b->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return b->fd < 0 ? err_sys(e, "open a route socket") : 0;
}

static void batch_done(struct batch *b)
{
	fd_close(b->fd);
}

static void *batch_add(struct batch *b, const char *what, uint16_t type, uint16_t flags, size_t extra)
{
	b->at = mnl_nlmsg_put_header(b->buf + b->n);
	b->at->nlmsg_type = type;
	b->at->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	b->at->nlmsg_seq = b->count;
	b->what[b->count++] = what;
	return mnl_nlmsg_put_extra_header(b->at, extra);
}

static void batch_end(struct batch *b)
{
	b->n += MNL_ALIGN(b->at->nlmsg_len);
}

/* Returns the first failure; later requests have been executed all the same. */
static int batch_run(struct batch *b, struct err *e)
{
	char buf[8192];
	unsigned answers = 0;
	int r = 0;

	if (send(b->fd, b->buf, b->n, 0) < 0)
		return err_sys(e, "send to the kernel");
	while (answers < b->count) {
		ssize_t got = recv(b->fd, buf, sizeof buf, 0);
		int n = (int)got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(e, "read the kernel's answer");
		for (struct nlmsghdr *h = (struct nlmsghdr *)buf; mnl_nlmsg_ok(h, n); h = mnl_nlmsg_next(h, &n)) {
			const struct nlmsgerr *ack = mnl_nlmsg_get_payload(h);

			if (h->nlmsg_type != NLMSG_ERROR)
				continue;
			answers++;
			if (ack->error < 0 && r == 0 && h->nlmsg_seq < b->count)
				r = err_set(e, -ack->error, "%s: %s", b->what[h->nlmsg_seq], strerror(-ack->error));
		}
	}
	b->n = 0;
	b->count = 0;
	return r;
}

/* /proc/net/route: name, destination, gateway, flags, refcount, use, metric, mask, mtu, ... */
static bool default_interface(char name[IFNAMSIZ])
{
	char text[8192];

	if (file_read(AT_FDCWD, "/proc/net/route", text, sizeof text) < 0)
		return false;
	struct str s = str_of(text);

	while (s.p) {
		struct str line = str_cut(&s, '\n');
		struct str dev = str_cut(&line, '\t'), dest = str_cut(&line, '\t');

		if (str_is(dest, "00000000"))
			return str_copy(name, IFNAMSIZ, str_trim(dev));
	}
	return false;
}

uint32_t link_default_mtu(void)
{
	char name[IFNAMSIZ], path[64], z[32];
	uint64_t mtu;

	if (!default_interface(name))
		return 1500;
	(void)snprintf(path, sizeof path, "/sys/class/net/%s/mtu", name);
	ssize_t n = file_read(AT_FDCWD, path, z, sizeof z);

	if (n <= 0 || str_to_u64((struct str) { z, (size_t)n - 1 }, 65535, &mtu) < 0 || mtu < 576)
		return 1500;
	return (uint32_t)mtu;
}

static void add_addr(struct batch *b, const char *what, uint16_t type, uint16_t flags, unsigned index, uint32_t ip)
{
	struct ifaddrmsg *a = batch_add(b, what, type, flags, sizeof *a);

	a->ifa_family = AF_INET;
	a->ifa_prefixlen = 32;
	a->ifa_scope = RT_SCOPE_UNIVERSE;
	a->ifa_index = index;
	mnl_attr_put_u32(b->at, IFA_LOCAL, htonl(ip));
	mnl_attr_put_u32(b->at, IFA_ADDRESS, htonl(ip));
	batch_end(b);
}

static void add_neigh(struct batch *b, unsigned index, uint32_t ip, const uint8_t mac[6])
{
	struct ndmsg *nd = batch_add(b, "add the neighbour", RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof *nd);

	nd->ndm_family = AF_INET;
	nd->ndm_ifindex = (int)index;
	nd->ndm_state = NUD_PERMANENT;
	mnl_attr_put_u32(b->at, NDA_DST, htonl(ip));
	mnl_attr_put(b->at, NDA_LLADDR, 6, mac);
	batch_end(b);
}

/* dst 0: the default route, through `via`. */
static void add_route(struct batch *b, unsigned index, uint32_t dst, uint32_t via, uint32_t src)
{
	struct rtmsg *rt = batch_add(b, "add the route", RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, sizeof *rt);

	rt->rtm_family = AF_INET;
	rt->rtm_dst_len = dst ? 32 : 0;
	rt->rtm_table = RT_TABLE_MAIN;
	rt->rtm_protocol = RTPROT_STATIC;
	rt->rtm_scope = via ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	rt->rtm_type = RTN_UNICAST;
	if (dst)
		mnl_attr_put_u32(b->at, RTA_DST, htonl(dst));
	if (via) {
		rt->rtm_flags = RTNH_F_ONLINK;
		mnl_attr_put_u32(b->at, RTA_GATEWAY, htonl(via));
	}
	if (src)
		mnl_attr_put_u32(b->at, RTA_PREFSRC, htonl(src));
	mnl_attr_put_u32(b->at, RTA_OIF, index);
	batch_end(b);
}

/* A lookup that the main table does not answer can only be one for direct neighbours; it ends at the sandbox
 * itself. */
static void add_no_neighbours(struct batch *b, unsigned index)
{
	struct rtmsg *rt = batch_add(b, "add the route for unrouted packets", RTM_NEWROUTE,
	    NLM_F_CREATE | NLM_F_REPLACE, sizeof *rt);

	rt->rtm_family = AF_INET;
	rt->rtm_table = RT_TABLE_DEFAULT; /* consulted after the main table */
	rt->rtm_protocol = RTPROT_STATIC;
	rt->rtm_scope = RT_SCOPE_HOST;
	rt->rtm_type = RTN_LOCAL;
	mnl_attr_put_u32(b->at, RTA_OIF, index);
	batch_end(b);
}

static void add_up(struct batch *b, const char *what, unsigned index)
{
	struct ifinfomsg *m = batch_add(b, what, RTM_NEWLINK, 0, sizeof *m);

	m->ifi_index = (int)index;
	m->ifi_flags = IFF_UP;
	m->ifi_change = IFF_UP;
	batch_end(b);
}

static int run_one(struct batch *b, struct err *e)
{
	int r = batch_run(b, e);

	batch_done(b);
	return r;
}

int link_gateway_add(uint32_t ip, struct err *e)
{
	struct batch b;

	if (batch_init(&b, e) < 0)
		return -e->no;
	add_addr(&b, "add the gateway address to lo", RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, if_nametoindex("lo"),
	    ip);
	return run_one(&b, e);
}

void link_gateway_del(uint32_t ip)
{
	struct err e;
	struct batch b;

	if (batch_init(&b, &e) < 0)
		return;
	add_addr(&b, "remove the gateway address", RTM_DELADDR, 0, if_nametoindex("lo"), ip);
	(void)run_one(&b, &e);
}

static void add_pair(struct batch *b, const struct slot *s, int netns_fd, uint32_t mtu)
{
	struct ifinfomsg *m = batch_add(b, "make the veth pair", RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof *m);

	(void)m;
	mnl_attr_put_strz(b->at, IFLA_IFNAME, s->veth);
	mnl_attr_put(b->at, IFLA_ADDRESS, 6, s->host_mac);
	mnl_attr_put_u32(b->at, IFLA_MTU, mtu);
	mnl_attr_put_u32(b->at, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(b->at, IFLA_NUM_RX_QUEUES, 1);
	struct nlattr *info = mnl_attr_nest_start(b->at, IFLA_LINKINFO);

	mnl_attr_put_strz(b->at, IFLA_INFO_KIND, "veth");
	struct nlattr *data = mnl_attr_nest_start(b->at, IFLA_INFO_DATA);
	struct nlattr *peer = mnl_attr_nest_start(b->at, VETH_INFO_PEER);

	(void)mnl_nlmsg_put_extra_header(b->at, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(b->at, IFLA_IFNAME, "eth0");
	mnl_attr_put(b->at, IFLA_ADDRESS, 6, s->mac);
	mnl_attr_put_u32(b->at, IFLA_MTU, mtu);
	mnl_attr_put_u32(b->at, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(b->at, IFLA_NUM_RX_QUEUES, 1);
	mnl_attr_put_u32(b->at, IFLA_NET_NS_FD, (uint32_t)netns_fd);
	mnl_attr_nest_end(b->at, peer);
	mnl_attr_nest_end(b->at, data);
	mnl_attr_nest_end(b->at, info);
	batch_end(b);
}

/* The last sandbox of this slot has exited, but the kernel removes a network namespace asynchronously, and we do
 * not wait: its interface gets another name, which the firewall still matches as a sandbox's, but not as one that
 * it lets through. */
static int rename_stale(const struct slot *s, struct err *e)
{
	char aside[IFNAMSIZ];
	struct batch b;
	unsigned index = if_nametoindex(s->veth);

	if (!index)
		return 0;
	int n = snprintf(aside, sizeof aside, "at%usx", s->instance);

	rand_label(aside + n, 8);
	if (batch_init(&b, e) < 0)
		return -e->no;
	struct ifinfomsg *m = batch_add(&b, "put the old interface aside", RTM_NEWLINK, 0, sizeof *m);

	m->ifi_index = (int)index;
	m->ifi_change = IFF_UP;
	batch_end(&b);
	m = batch_add(&b, "rename the old interface", RTM_NEWLINK, 0, sizeof *m);
	m->ifi_index = (int)index;
	mnl_attr_put_strz(b.at, IFLA_IFNAME, aside);
	batch_end(&b);
	if (run_one(&b, e) == -ENODEV) /* gone meanwhile, which is fine */
		*e = ERR_INIT;
	return -e->no;
}

static int make_pair(struct batch *b, const struct slot *s, int netns_fd, uint32_t mtu, struct err *e)
{
	for (int i = 0;; i++) {
		add_pair(b, s, netns_fd, mtu);
		int r = batch_run(b, e);

		if (r != -EEXIST || i == RENAME_TRIES)
			return r;
		*e = ERR_INIT;
		if (rename_stale(s, e) < 0)
			return -e->no;
	}
}

/* The connections of the previous sandbox are forgotten when its interface no longer has the name that the firewall
 * lets through, and the new one is not up: a packet that its kernel still sends could otherwise bring one back. */
int link_make(const struct slot *s, int netns_fd, uint32_t mtu, struct err *e)
{
	char path[80];
	struct batch b;

	if (batch_init(&b, e) < 0)
		return -e->no;
	if (make_pair(&b, s, netns_fd, mtu, e) < 0 || ct_forget(s->ip, e) < 0) {
		batch_done(&b);
		return -e->no;
	}
	/* Before it is up, so that it never has an address or answers a neighbour. If the file does not exist,
	 * there is no IPv6, which is fine. */
	(void)snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", s->veth);
	(void)file_write(AT_FDCWD, path, "1");
	unsigned index = if_nametoindex(s->veth);

	add_up(&b, "bring up the host's end", index);
	add_neigh(&b, index, s->ip, s->mac);
	add_route(&b, index, s->ip, 0, s->gateway);
	return run_one(&b, e);
}

/* Traffic to a port of a sandbox passes its loopback, and then a second connection to the client. Each packet on
 * the loopback costs CPU time that a direct connection would not need. So packets are large (the kernel's default
 * is 64 KiB), and listeners at 127.0.0.1 use a congestion control that does not measure a path, since there is
 * none (see tune() in http/server.c; the host's default, which may do so, holds for all else). A kernel before 6.3
 * supports only some of this, which is no error. */
static void quicken_loopback(unsigned lo)
{
	struct err ignored = ERR_INIT;
	struct batch b;

	if (batch_init(&b, &ignored) < 0)
		return;
	struct ifinfomsg *m = batch_add(&b, "set the packet size of lo", RTM_NEWLINK, 0, sizeof *m);

	m->ifi_index = (int)lo;
	mnl_attr_put_u32(b.at, IFLA_GSO_MAX_SIZE, LOOPBACK_PACKET); /* for IPv6, */
	mnl_attr_put_u32(b.at, IFLA_GRO_MAX_SIZE, LOOPBACK_PACKET);
	mnl_attr_put_u32(b.at, ATTR_GSO_IPV4_MAX_SIZE, LOOPBACK_PACKET);
	mnl_attr_put_u32(b.at, ATTR_GRO_IPV4_MAX_SIZE, LOOPBACK_PACKET);
	batch_end(&b);
	struct rtmsg *rt = batch_add(&b, "set the congestion control of lo", RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE,
	    sizeof *rt);

	rt->rtm_family = AF_INET;
	rt->rtm_dst_len = 32;
	rt->rtm_table = RT_TABLE_LOCAL;
	rt->rtm_protocol = RTPROT_KERNEL;
	rt->rtm_scope = RT_SCOPE_HOST;
	rt->rtm_type = RTN_LOCAL;
	mnl_attr_put_u32(b.at, RTA_DST, htonl(INADDR_LOOPBACK));
	mnl_attr_put_u32(b.at, RTA_PREFSRC, htonl(INADDR_LOOPBACK));
	mnl_attr_put_u32(b.at, RTA_OIF, lo);
	struct nlattr *metrics = mnl_attr_nest_start(b.at, RTA_METRICS);

	mnl_attr_put_strz(b.at, RTAX_CC_ALGO, "reno");
	mnl_attr_nest_end(b.at, metrics);
	batch_end(&b);
	(void)run_one(&b, &ignored);
}

int link_inside(const struct slot *s, struct err *e)
{
	struct batch b;

	if (batch_init(&b, e) < 0)
		return -e->no;
	unsigned lo = if_nametoindex("lo"), eth = if_nametoindex("eth0");

	add_up(&b, "bring up lo", lo);
	add_up(&b, "bring up eth0", eth);
	add_addr(&b, "add the address of eth0", RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, eth, s->ip);
	add_neigh(&b, eth, s->gateway, s->host_mac);
	add_route(&b, eth, 0, s->gateway, s->ip);
	add_no_neighbours(&b, eth);
	if (run_one(&b, e) < 0)
		return -e->no;
	quicken_loopback(lo);
	return 0;
}

int link_sysctls(uint32_t first, uint32_t count, struct err *e)
{
	char groups[32];
	const struct {
		const char *path, *value;
	} set[] = {
		{ "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0" },
		{ "/proc/sys/net/ipv4/ping_group_range", groups },
		{ "/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1" },
	};

	(void)snprintf(groups, sizeof groups, "%u %u", first, first + count - 1);
	for (size_t i = 0; i < ARRAY_LEN(set); i++) {
		int r = file_write(AT_FDCWD, set[i].path, set[i].value);

		if (r < 0 && r != -ENOENT)
			return err_set(e, -r, "set %s: %s", set[i].path, strerror(-r));
	}
	return 0;
}
