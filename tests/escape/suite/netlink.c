/* SPDX-License-Identifier: Apache-2.0 */
/* netlink: what the routing family does when it is asked to change or to look elsewhere. */
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "attempt.h"

struct request {
	struct nlmsghdr h;
	char body[512];
};

static void put(struct request *r, const void *p, size_t n)
{
	memcpy((char *)r + NLMSG_ALIGN(r->h.nlmsg_len), p, n);
	r->h.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->h.nlmsg_len) + n);
}

static void put_attr(struct request *r, unsigned short type, const void *p, size_t n)
{
	struct rtattr a = { .rta_len = (unsigned short)RTA_LENGTH(n), .rta_type = type };

	put(r, &a, sizeof a);
	memcpy((char *)r + r->h.nlmsg_len, p, n);
	r->h.nlmsg_len = (uint32_t)(r->h.nlmsg_len + n);
}

/* What the kernel says to it: 0, or its error. */
static int ask(struct request *r)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[8192];
	} answer;
	int one = 1, s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	r->h.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (s < 0)
		return unclear("socket: %s", errno_name(errno));
	/* Else what a request for a list says more is not read. */
	if (r->h.nlmsg_type == RTM_GETADDR && setsockopt(s, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof one) < 0)
		return unclear("setsockopt: %s", errno_name(errno));
	if (send(s, r, r->h.nlmsg_len, 0) < 0)
		return -errno;
	ssize_t n = recv(s, &answer, sizeof answer, 0);

	if (n < (ssize_t)sizeof(struct nlmsghdr))
		return unclear("no answer: %s", errno_name(errno));
	if (answer.h.nlmsg_type == NLMSG_DONE) /* a list that ended before it began: with an error */
		return n >= (ssize_t)NLMSG_LENGTH(sizeof(int)) && answer.e.error < 0 ? answer.e.error
										     : unclear("an empty list");
	return answer.h.nlmsg_type == NLMSG_ERROR ? answer.e.error : 0;
}

static struct request begin(unsigned short type, unsigned short flags, const void *head, size_t n)
{
	struct request r = { .h = { .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type, .nlmsg_flags = flags } };

	put(&r, head, n);
	return r;
}

static int index_of(const char *name)
{
	unsigned i = if_nametoindex(name);

	return i ? (int)i : 1;
}

static int link_delete(void)
{
	struct ifinfomsg m = { .ifi_index = index_of("eth0") };
	struct request r = begin(RTM_DELLINK, 0, &m, sizeof m);

	return ask(&r);
}

static int link_move(void)
{
	struct ifinfomsg m = { .ifi_index = index_of("eth0") };
	struct request r = begin(RTM_NEWLINK, 0, &m, sizeof m);
	uint32_t pid = 1;

	put_attr(&r, IFLA_NET_NS_PID, &pid, sizeof pid);
	return ask(&r);
}

static int link_down(void)
{
	struct ifinfomsg m = { .ifi_index = index_of("lo"), .ifi_change = IFF_UP };
	struct request r = begin(RTM_NEWLINK, 0, &m, sizeof m);

	return ask(&r);
}

static int address_add(void)
{
	struct ifaddrmsg m = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = (unsigned)index_of("eth0") };
	struct request r = begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &m, sizeof m);
	uint32_t a = htonl(0x0a636301);

	put_attr(&r, IFA_LOCAL, &a, sizeof a);
	return ask(&r);
}

static int route_add(void)
{
	struct rtmsg m = { .rtm_family = AF_INET,
		.rtm_dst_len = 32,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_LINK,
		.rtm_type = RTN_BLACKHOLE };
	struct request r = begin(RTM_NEWROUTE, NLM_F_CREATE, &m, sizeof m);
	uint32_t a = htonl(0x0a636302);

	put_attr(&r, RTA_DST, &a, sizeof a);
	return ask(&r);
}

static int rule_add(void)
{
	struct rtmsg m = { .rtm_family = AF_INET, .rtm_table = 99, .rtm_type = RTN_UNICAST };
	struct request r = begin(RTM_NEWRULE, NLM_F_CREATE, &m, sizeof m);

	return ask(&r);
}

static int neighbour_add(void)
{
	struct ndmsg m = { .ndm_family = AF_INET, .ndm_ifindex = index_of("eth0"), .ndm_state = NUD_PERMANENT };
	struct request r = begin(RTM_NEWNEIGH, NLM_F_CREATE, &m, sizeof m);
	uint32_t a = htonl(0x0a636303);

	put_attr(&r, NDA_DST, &a, sizeof a);
	put_attr(&r, NDA_LLADDR, "\2\0\0\0\0\1", 6);
	return ask(&r);
}

static int shape(void)
{
	struct tcmsg m = { .tcm_ifindex = index_of("eth0"), .tcm_handle = 0x10000, .tcm_parent = TC_H_ROOT };
	struct request r = begin(RTM_NEWQDISC, NLM_F_CREATE, &m, sizeof m);

	put_attr(&r, TCA_KIND, "pfifo", 6);
	return ask(&r);
}

static int namespace_id(void)
{
	struct rtgenmsg m = { 0 };
	struct request r = begin(RTM_NEWNSID, 0, &m, sizeof m);
	uint32_t pid = (uint32_t)getpid();
	int32_t id = 7;

	put_attr(&r, NETNSA_PID, &pid, sizeof pid);
	put_attr(&r, NETNSA_NSID, &id, sizeof id);
	return ask(&r);
}

/* eth0 tells the number that the host's network has here: by it the host's links could be asked for. */
static int host_links(void)
{
	int r = -ENOENT, n = 0;

	for (int32_t id = 0; id < 4; id++) {
		struct ifinfomsg m = { .ifi_index = 1 };
		struct request q = begin(RTM_GETLINK, 0, &m, sizeof m);

		put_attr(&q, IFLA_TARGET_NETNSID, &id, sizeof id);
		r = ask(&q);
		if (r >= 0)
			return broken("links of namespace %d", id);
		n += r == -EACCES || r == -EPERM || r == -EINVAL;
	}
	return n ? r : unclear("nothing was refused");
}

static int host_addresses(void)
{
	int r = -ENOENT;

	for (int32_t id = 0; id < 4; id++) {
		struct ifaddrmsg m = { .ifa_family = AF_INET };
		struct request q = begin(RTM_GETADDR, NLM_F_DUMP, &m, sizeof m);

		put_attr(&q, IFA_TARGET_NETNSID, &id, sizeof id);
		r = ask(&q);
		if (r >= 0)
			return broken("addresses of namespace %d", id);
	}
	return r;
}

/* Sent without routing every address would be a neighbour, and the table of them is the host's. */
static int neighbour_table(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	char text[65536];
	int one = 1, lines = 0, s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0 || setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, "eth0", 5) < 0 ||
	    setsockopt(s, SOL_SOCKET, SO_DONTROUTE, &one, sizeof one) < 0)
		return unclear("set up: %s", errno_name(errno));
	for (uint32_t i = 1; i <= 50; i++) {
		to.sin_addr.s_addr = htonl(0x0a320000 + i);
		(void)sendto(s, "x", 1, 0, (struct sockaddr *)&to, sizeof to);
	}
	if (slurp("/proc/net/arp", text, sizeof text) < 0)
		return unclear("no table: %s", errno_name(errno));
	for (char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	return lines < 6 ? held("%d entries after 50 addresses", lines - 1) : broken("%d entries", lines - 1);
}

static const char links[] = "address, route and link are set from outside only";
static const char elsewhere[] = "no network but its own can be looked at";

static const struct attempt attempts[] = {
	{ "netlink/delete-link", links, link_delete, .expect = { EPERM } },
	{ "netlink/move-link", links, link_move, .expect = { EPERM } },
	{ "netlink/link-down", links, link_down, .expect = { EPERM }, .flags = OUTSIDE },
	{ "netlink/add-address", links, address_add, .expect = { EPERM }, .flags = OUTSIDE },
	{ "netlink/add-route", links, route_add, .expect = { EPERM } },
	{ "netlink/add-rule", links, rule_add, .expect = { EPERM } },
	{ "netlink/add-neighbour", links, neighbour_add, .expect = { EPERM } },
	{ "netlink/shape", links, shape, .expect = { EPERM } },
	{ "netlink/name-a-namespace", elsewhere, namespace_id, .expect = { EPERM }, .flags = OUTSIDE },
	{ "netlink/links-of-the-host", elsewhere, host_links, .expect = { EACCES, EPERM, EINVAL } },
	{ "netlink/addresses-of-the-host", elsewhere, host_addresses, .expect = { EACCES, EPERM, EINVAL } },
	{ "netlink/neighbour-table", "no table of the whole host can be filled", neighbour_table },
};
GROUP(netlink, "netlink");
