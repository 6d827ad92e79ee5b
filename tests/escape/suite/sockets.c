/* SPDX-License-Identifier: Apache-2.0 */
/* sockets: families, protocols and options that nobody needs for data work. */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "attempt.h"

static int option(int type, int level, int name, const void *v, socklen_t n)
{
	int s = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (s < 0)
		return unclear("socket: %s", errno_name(errno));
	return setsockopt(s, level, name, v, n) < 0 ? -errno : 0;
}

static const int one = 1, much = 1 << 28, seven = 7;

static int md5(void)
{
	struct tcp_md5sig k = { .tcpm_keylen = 8 };

	k.tcpm_addr.ss_family = AF_INET;
	memcpy(&((struct sockaddr_in *)&k.tcpm_addr)->sin_addr, "\12\0\0\1", 4);
	return option(SOCK_STREAM, IPPROTO_TCP, TCP_MD5SIG, &k, sizeof k);
}

/* Compiled by the kernel into memory of the host, a hundred kilobytes of it. */
static int filter_as(int name)
{
	static struct sock_filter code[4096];
	struct sock_fprog p = { COUNT(code), code };

	for (size_t i = 0; i < COUNT(code) - 1; i++)
		code[i] = (struct sock_filter) { BPF_ALU | BPF_DIV | BPF_K, 0, 0, 3 };
	code[COUNT(code) - 1] = (struct sock_filter) { BPF_RET | BPF_K, 0, 0, 0 };
	return option(SOCK_DGRAM, SOL_SOCKET, name, &p, sizeof p);
}

static int attach_filter(void)
{
	return filter_as(SO_ATTACH_FILTER);
}
static int attach_group_filter(void)
{
	return filter_as(SO_ATTACH_REUSEPORT_CBPF);
}
static int transparent(void)
{
	return option(SOCK_STREAM, IPPROTO_IP, 19, &one, sizeof one);
}
static int mark(void)
{
	return option(SOCK_STREAM, SOL_SOCKET, SO_MARK, &one, sizeof one);
}
static int force_in(void)
{
	return option(SOCK_STREAM, SOL_SOCKET, SO_RCVBUFFORCE, &much, sizeof much);
}
static int force_out(void)
{
	return option(SOCK_STREAM, SOL_SOCKET, SO_SNDBUFFORCE, &much, sizeof much);
}
static int priority(void)
{
	return option(SOCK_STREAM, SOL_SOCKET, SO_PRIORITY, &seven, sizeof seven);
}
static int repair(void)
{
	return option(SOCK_STREAM, IPPROTO_TCP, TCP_REPAIR, &one, sizeof one);
}
static int netfilter(void)
{
	char b[128] = { 0 };
	return option(SOCK_DGRAM, IPPROTO_IP, 64, b, sizeof b);
}
static int ipsec(void)
{
	char b[256] = { 0 };
	return option(SOCK_DGRAM, IPPROTO_IP, 17, b, sizeof b);
}
static int routed(void)
{
	unsigned char b[] = { 131, 7, 4, 10, 0, 0, 1, 0 };
	return option(SOCK_DGRAM, IPPROTO_IP, 4, b, sizeof b);
}

static int interface(unsigned long request)
{
	struct ifreq r = { 0 };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(r.ifr_name, "eth0", 5);
	r.ifr_addr.sa_family = request == SIOCSIFHWADDR ? ARPHRD_ETHER : AF_INET;
	memcpy(r.ifr_addr.sa_data + 2, "\12\0\0\1", 4);
	return s < 0 ? unclear("socket: %s", errno_name(errno)) : SYS(SYS_ioctl, s, request, &r);
}

static int set_address(void)
{
	return interface(SIOCSIFADDR);
}
static int set_mac(void)
{
	return interface(SIOCSIFHWADDR);
}
static int set_down(void)
{
	return interface(SIOCSIFFLAGS);
}
static int set_name(void)
{
	return interface(SIOCSIFNAME);
}

static int arp(void)
{
	struct arpreq r = { .arp_flags = ATF_PERM | ATF_COM };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(r.arp_dev, "eth0", 5);
	r.arp_pa.sa_family = AF_INET;
	memcpy(r.arp_pa.sa_data + 2, "\12\0\0\2", 4);
	r.arp_ha.sa_family = ARPHRD_ETHER;
	return s < 0 ? unclear("socket: %s", errno_name(errno)) : SYS(SYS_ioctl, s, SIOCSARP, &r);
}

static int route(void)
{
	struct rtentry r = { .rt_flags = RTF_UP };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	r.rt_dst.sa_family = r.rt_genmask.sa_family = AF_INET;
	r.rt_dev = "eth0";
	return s < 0 ? unclear("socket: %s", errno_name(errno)) : SYS(SYS_ioctl, s, SIOCADDRT, &r);
}

/* A host may have loaded it for its own use. */
static int kernel_tls(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (l < 0 || c < 0 || bind(l, (struct sockaddr *)&a, sizeof a) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (struct sockaddr *)&a, &n) < 0 || connect(c, (struct sockaddr *)&a, sizeof a) < 0)
		return unclear("connect: %s", errno_name(errno));
	return SYS(SYS_setsockopt, c, IPPROTO_TCP, 31, "tls", 3);
}

static int encapsulate(void)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), espinudp = 2;

	return s < 0 ? unclear("socket: %s", errno_name(errno))
		     : SYS(SYS_setsockopt, s, 17, 100, &espinudp, sizeof espinudp);
}

static const char families[] = "sockets of the families UNIX, INET, INET6 and routing NETLINK only";
static const char protocols[] = "of INET only TCP, UDP and ping";
static const char options[] = "no option that marks, forges or takes memory from others";
static const char links[] = "address, route and link are set from outside only";

#define F(word, family, type, more) \
	{ "sockets/" word, families, NULL, SYS_socket, { N(family), N(type), N(0) }, { EAFNOSUPPORT }, more }
#define P(word, family, type, proto) \
	{ \
		"sockets/" word, protocols, NULL, SYS_socket, { N(family), N(type), N(proto) }, \
		{ \
			EPERM, EPROTONOSUPPORT \
		} \
	}
#define L(word, nl) \
	{ "sockets/netlink-" word, families, NULL, SYS_socket, { N(AF_NETLINK), N(SOCK_RAW), N(nl) }, \
		{ EAFNOSUPPORT }, 0 }

static const struct attempt attempts[] = {
	F("alg", 38, SOCK_SEQPACKET, 0),
	F("packet", 17, SOCK_RAW, OUTSIDE),
	F("vsock", 40, SOCK_STREAM, 0),
	F("key", 15, SOCK_RAW, 0),
	F("bluetooth", 31, SOCK_RAW, 0),
	F("can", 29, SOCK_RAW, 0),
	F("xdp", 44, SOCK_RAW, 0),
	F("tipc", 30, SOCK_STREAM, 0),
	F("rds", 21, SOCK_SEQPACKET, 0),
	F("smc", 43, SOCK_STREAM, 0),
	F("nfc", 39, SOCK_RAW, 0),
	F("qipcrtr", 42, SOCK_DGRAM, 0),
	F("llc", 26, SOCK_STREAM, 0),
	F("x25", 9, SOCK_SEQPACKET, 0),
	F("ax25", 3, SOCK_SEQPACKET, 0),
	F("mctp", 45, SOCK_DGRAM, 0),
	F("phonet", 35, SOCK_DGRAM, 0),
	F("rxrpc", 33, SOCK_DGRAM, 0),
	F("kcm", 41, SOCK_DGRAM, 0),
	F("appletalk", 5, SOCK_DGRAM, 0),
	{ "sockets/family-high-bits", families, NULL, SYS_socket, { N(17 | 1ul << 32), N(SOCK_RAW), N(0) },
	    { EAFNOSUPPORT }, 0 },
	L("audit", 9),
	L("netfilter", 12),
	L("xfrm", 6),
	L("sock-diag", 4),
	L("uevent", 15),
	L("generic", 16),
	L("connector", 11),
	L("crypto", 21),
	L("selinux", 7),
	L("scsi", 18),
	L("iscsi", 8),
	L("rdma", 20),
	{ "sockets/netlink-high-bits", families, NULL, SYS_socket, { N(AF_NETLINK), N(SOCK_RAW), N(12 | 1ul << 32) },
	    { EAFNOSUPPORT }, 0 },
	P("raw-icmp", AF_INET, SOCK_RAW, IPPROTO_ICMP),
	P("raw-ip", AF_INET, SOCK_RAW, 255),
	P("raw-tcp", AF_INET, SOCK_RAW, IPPROTO_TCP),
	P("raw-icmp6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
	P("mptcp", AF_INET, SOCK_STREAM, 262),
	P("sctp", AF_INET6, SOCK_STREAM, 132),
	P("dccp", AF_INET, 6, 33),
	P("l2tp", AF_INET, SOCK_DGRAM, 115),
	P("udp-lite", AF_INET, SOCK_DGRAM, 136),
	P("sctp-high-bits", AF_INET, SOCK_STREAM, 132 | 1ul << 32),
	{ "sockets/tcp-md5", options, md5, .expect = { ENOPROTOOPT } },
	{ "sockets/kernel-tls", "no protocol of the kernel below a connection", kernel_tls, .expect = { ENOPROTOOPT } },
	{ "sockets/udp-encapsulation", "no protocol of the kernel below a connection", encapsulate,
	    .expect = { ENOPROTOOPT } },
	{ "sockets/filter", options, attach_filter, .expect = { ENOPROTOOPT }, .flags = OUTSIDE },
	{ "sockets/group-filter", options, attach_group_filter, .expect = { ENOPROTOOPT } },
	{ "sockets/transparent", options, transparent, .expect = { EPERM }, .flags = OUTSIDE },
	{ "sockets/mark", options, mark, .expect = { EPERM }, .flags = OUTSIDE },
	{ "sockets/receive-buffer-force", options, force_in, .expect = { EPERM }, .flags = OUTSIDE },
	{ "sockets/send-buffer-force", options, force_out, .expect = { EPERM }, .flags = OUTSIDE },
	{ "sockets/priority", options, priority, .expect = { EPERM }, .flags = OUTSIDE },
	{ "sockets/tcp-repair", options, repair, .expect = { EPERM } },
	{ "sockets/iptables", "the firewall is the host's", netfilter, .expect = { EPERM, ENOPROTOOPT } },
	{ "sockets/ipsec-policy", options, ipsec, .expect = { EPERM, ENOPROTOOPT, EINVAL } },
	{ "sockets/source-route", "no packet chooses its own way", routed, .expect = { EPERM, EINVAL } },
	{ "sockets/set-address", links, set_address, .expect = { EPERM } },
	{ "sockets/set-mac", links, set_mac, .expect = { EPERM } },
	{ "sockets/set-link-down", links, set_down, .expect = { EPERM } },
	{ "sockets/rename-link", links, set_name, .expect = { EPERM } },
	{ "sockets/add-arp", links, arp, .expect = { EPERM } },
	{ "sockets/add-route", links, route, .expect = { EPERM } },
};
GROUP(sockets, "sockets");
