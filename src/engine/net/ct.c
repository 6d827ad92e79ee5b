/* SPDX-License-Identifier: Apache-2.0 */
/* net_ct: deletes connections of the previous sandbox at an address.
 *
 * An entry of the connection tracking table outlives the sandbox that made it (TCP: days), and its peer outside
 * can keep it alive. With it the peer would reach the next sandbox at that address, through NAT and past a
 * firewall that accepts replies. */
#include "engine/net/ct.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

#define ANSWER_MAX 32768
/* The only part of the tuple that is matched; the kernel's headers do not export the flag. */
#define FILTER_IP_SRC 1u

static struct nlmsghdr *put_message(char *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *g;

	h->nlmsg_type = (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type);
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	g = mnl_nlmsg_put_extra_header(h, sizeof *g);
	g->nfgen_family = AF_INET;
	g->version = NFNETLINK_V0;
	return h;
}

/* Matches all connections whose first packet came from ip. */
static void put_filter(struct nlmsghdr *h, uint32_t ip)
{
	struct nlattr *tuple = mnl_attr_nest_start(h, CTA_TUPLE_ORIG),
		      *addresses = mnl_attr_nest_start(h, CTA_TUPLE_IP);

	mnl_attr_put_u32(h, CTA_IP_V4_SRC, htonl(ip));
	mnl_attr_nest_end(h, addresses);
	mnl_attr_nest_end(h, tuple);
	struct nlattr *filter = mnl_attr_nest_start(h, CTA_FILTER);

	mnl_attr_put_u32(h, CTA_FILTER_ORIG_FLAGS, FILTER_IP_SRC);
	mnl_attr_put_u32(h, CTA_FILTER_REPLY_FLAGS, 0);
	mnl_attr_nest_end(h, filter);
}

/* Sends one message and reads its reply. Returns 0 or -errno. */
static int ask(int fd, const struct nlmsghdr *h)
{
	_Alignas(8) char answer[1024];
	ssize_t n;

	if (send(fd, h, h->nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(fd, answer, sizeof answer, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	const struct nlmsghdr *re = (const struct nlmsghdr *)answer;

	if (!mnl_nlmsg_ok(re, (int)n) || re->nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(re))->error;
}

/* Deletes the entry that a reply of the kernel describes; one that has disappeared meanwhile is no error. */
static int forget_one(int fd, const struct nlmsghdr *entry)
{
	_Alignas(8) char buf[1024];
	struct nlmsghdr *h = put_message(buf, IPCTNL_MSG_CT_DELETE, NLM_F_ACK);
	const struct nlattr *a;

	mnl_attr_for_each(a, entry, sizeof(struct nfgenmsg))
	{
		uint16_t type = mnl_attr_get_type(a);

		if (type == CTA_TUPLE_ORIG || type == CTA_ID || type == CTA_ZONE) {
			if (h->nlmsg_len + mnl_attr_get_len(a) > sizeof buf - 16)
				return -EMSGSIZE;
			mnl_attr_put(h, a->nla_type, mnl_attr_get_payload_len(a), mnl_attr_get_payload(a));
		}
	}
	int r = ask(fd, h);

	return r == -ENOENT ? 0 : r;
}

/* Deletes the entries of one packet of the kernel's list. 1: more will follow. */
static int forget_listed(int fd, const char *packet, int n)
{
	for (const struct nlmsghdr *h = (const struct nlmsghdr *)packet; mnl_nlmsg_ok(h, n);
	    h = mnl_nlmsg_next(h, &n)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		int r = h->nlmsg_type == NLMSG_ERROR ? ((const struct nlmsgerr *)mnl_nlmsg_get_payload(h))->error
						     : forget_one(fd, h);

		if (r < 0)
			return r;
	}
	return 1;
}

/* Older kernels can filter only lists. This walks the whole table, which takes some milliseconds. */
static int forget_by_list(int fd, uint32_t ip)
{
	_Alignas(8) char buf[256], packet[ANSWER_MAX];
	struct nlmsghdr *h = put_message(buf, IPCTNL_MSG_CT_GET, NLM_F_DUMP);
	/* a second socket, so that replies do not mix */
	autoclose int other = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	int r = 1;

	if (other < 0)
		return -errno;
	put_filter(h, ip);
	if (send(fd, h, h->nlmsg_len, 0) < 0)
		return -errno;
	while (r > 0) {
		ssize_t n = recv(fd, packet, sizeof packet, 0);

		if (n < 0 && errno == EINTR)
			continue;
		r = n < 0 ? -errno : forget_listed(other, packet, (int)n);
	}
	return r;
}

int ct_forget(uint32_t ip, struct err *e)
{
	_Alignas(8) char buf[256];
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	struct nlmsghdr *h = put_message(buf, IPCTNL_MSG_CT_DELETE, NLM_F_ACK);

	if (fd < 0)
		return err_sys(e, "open a connection table socket");
	put_filter(h, ip);
	int r = ask(fd, h);

	/* Older kernels take the tuple for that of a single connection, and find the rest of it missing. */
	if (r == -EINVAL || r == -EOPNOTSUPP || r == -ENOENT)
		r = forget_by_list(fd, ip);
	return r < 0 ? err_set(e, -r, "forget the connections of its predecessor: %s", strerror(-r)) : 0;
}
