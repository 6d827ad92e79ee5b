/* SPDX-License-Identifier: Apache-2.0 */
/* reach: what is never reachable over the network: the host, its neighbourhood, metadata. The runner tells where
 * something really listens (ESCAPE_HOST: addresses of the host, ESCAPE_PORTS: ports on them), and knows that it does,
 * because it has asked it itself. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "attempt.h"

#define WAIT_MS 3000

int reach_tcp(const char *address, unsigned port, int wait_ms);
int reach_udp(const char *address, unsigned port);

static int finish(int s, int wait_ms)
{
	struct pollfd p = { .fd = s, .events = POLLOUT };
	int no = 0;
	socklen_t n = sizeof no;

	if (poll(&p, 1, wait_ms) == 0)
		return -ETIMEDOUT;
	return getsockopt(s, SOL_SOCKET, SO_ERROR, &no, &n) < 0 ? -errno : -no;
}

/* 0: connected. */
int reach_tcp(const char *address, unsigned port, int wait_ms)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_scope_id = 2 };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	bool is_six = strchr(address, ':') != NULL;
	int s = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (s < 0)
		return -errno;
	if (inet_pton(is_six ? AF_INET6 : AF_INET, address, is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr) !=
	    1)
		r = -EINVAL;
	else if (connect(s, is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four,
		     is_six ? sizeof six : sizeof four) == 0)
		r = 0;
	else
		r = errno == EINPROGRESS ? finish(s, wait_ms) : -errno;
	close(s);
	return r;
}

/* 0: it answered. */
int reach_udp(const char *address, unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;
	struct pollfd p = { .fd = s, .events = POLLIN };
	char b[64];

	if (s < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return -EINVAL;
	if (connect(s, (struct sockaddr *)&to, sizeof to) < 0 || send(s, "escape", 6, 0) < 0)
		r = -errno;
	else if (poll(&p, 1, 700) == 0)
		r = -ETIMEDOUT;
	else
		r = recv(s, b, sizeof b, 0) < 0 ? -errno : 0;
	close(s);
	return r;
}

static int gateway(char to[64])
{
	char text[2048], *at;

	if (slurp("/etc/resolv.conf", text, sizeof text) <= 0 || !(at = strstr(text, "nameserver ")))
		return -1;
	return sscanf(at + 11, "%63s", to) == 1 ? 0 : -1;
}

/* Every port of a list against every address of a list. */
static int each_of(const char *addresses, const char *ports, int (*hit)(const char *, unsigned))
{
	char a[1024], p[256], *save_a, *save_p;
	int n = 0, last = 0;

	(void)snprintf(a, sizeof a, "%s", addresses);
	for (char *address = strtok_r(a, ",", &save_a); address; address = strtok_r(NULL, ",", &save_a)) {
		(void)snprintf(p, sizeof p, "%s", ports);
		for (char *port = strtok_r(p, ",", &save_p); port; port = strtok_r(NULL, ",", &save_p)) {
			int r = hit(address, (unsigned)atoi(port));

			if (r == 0)
				return broken("%s port %s", address, port);
			last = r;
			n++;
		}
	}
	return n ? refused(-last, "%d tried", n) : unclear("nothing to try");
}

static int quick(const char *address, unsigned port)
{
	return reach_tcp(address, port, WAIT_MS);
}

static int host_services(void)
{
	const char *host = setting("ESCAPE_HOST"), *ports = setting("ESCAPE_PORTS");

	return host && ports ? each_of(host, ports, quick) : skip("the runner is not on the server's machine");
}

static int host_udp(void)
{
	const char *host = setting("ESCAPE_HOST"), *ports = setting("ESCAPE_PORTS");

	return host && ports ? each_of(host, ports, reach_udp) : skip("the runner is not on the server's machine");
}

static int gateway_services(void)
{
	const char *ports = setting("ESCAPE_PORTS");
	char gw[64];

	if (gateway(gw) < 0)
		return unclear("no gateway is known");
	return each_of(gw, ports ? ports : "22,80,443,8080", quick);
}

/* All low ports and some more; 53 is the resolver, which is there for sandboxes. */
static int gateway_scan(void)
{
	static const unsigned more[] = { 1080, 2375, 2376, 2379, 3000, 3128, 3306, 5432, 5672, 6379, 6443, 8000, 8080,
		8443, 8888, 9000, 9090, 9200, 10250, 11211, 27017, 49983, 49999 };
	char gw[64];
	int n = 0, last = 0;

	if (gateway(gw) < 0)
		return unclear("no gateway is known");
	for (unsigned i = 1; i <= 1024 + COUNT(more); i++) {
		unsigned port = i <= 1024 ? i : more[i - 1025];

		if (port == 53)
			continue;
		last = reach_tcp(gw, port, 300);
		if (last == 0)
			return broken("port %u of the host is open", port);
		n++;
	}
	return refused(-last, "%d ports", n);
}

static int mapped(void)
{
	const char *ports = setting("ESCAPE_PORTS");
	char gw[64], six[80];

	if (gateway(gw) < 0)
		return unclear("no gateway is known");
	(void)snprintf(six, sizeof six, "::ffff:%s", gw);
	return each_of(six, ports ? ports : "80", quick);
}

#define TCP(fn, address, port) \
	static int fn(void) \
	{ \
		int r = reach_tcp(address, port, WAIT_MS); \
		return r ? refused(-r, "%s", address) : broken("%s port %d", address, port); \
	}

TCP(metadata, "169.254.169.254", 80)
TCP(metadata_alibaba, "100.100.100.200", 80)
TCP(metadata_azure, "168.63.129.16", 80)
TCP(link_local, "169.254.1.1", 80)
TCP(private_10, "10.0.0.1", 80)
TCP(private_172, "172.17.0.1", 80)
TCP(private_192, "192.168.0.1", 80)
TCP(carrier, "100.64.0.1", 80)
TCP(this_network, "0.0.0.1", 80)
TCP(reserved, "240.0.0.1", 80)
TCP(benchmark, "198.18.0.1", 80)
TCP(broadcast, "255.255.255.255", 80)
TCP(six_local, "fe80::1", 80)
TCP(six_metadata, "fd00:ec2::254", 80)
TCP(six_private, "fc00::1", 80)
TCP(six_public, "2001:4860:4860::8888", 53)
TCP(nat64, "64:ff9b::a9fe:a9fe", 80)

static int multicast(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(5353) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = s, .events = POLLIN };
	char b[64];

	to.sin_addr.s_addr = htonl(0xe00000fb);
	if (s < 0)
		return unclear("socket: %s", errno_name(errno));
	if (sendto(s, "\0\0\0\0\0\1\0\0\0\0\0\0\11_services\7_dns-sd\4_udp\5local\0\0\14\0\1", 46, 0,
		(struct sockaddr *)&to, sizeof to) < 0)
		return -errno;
	return poll(&p, 1, 700) > 0 && recv(s, b, sizeof b, 0) > 0 ? broken("somebody answered")
								   : held("nobody answers");
}

/* The resolver is the only thing of the host that may be spoken to, and without internet not even that. */
static int resolver(void)
{
	static const unsigned char query[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\6escape\7invalid\0\0\1\0\1";
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;
	struct pollfd p = { .fd = s, .events = POLLIN };
	char gw[64];
	unsigned char b[512];

	if (gateway(gw) < 0 || s < 0)
		return unclear("no gateway is known");
	(void)inet_pton(AF_INET, gw, &to.sin_addr);
	if (connect(s, (struct sockaddr *)&to, sizeof to) < 0 || send(s, query, sizeof query - 1, 0) < 0)
		r = -errno;
	else
		r = poll(&p, 1, 2000) == 0 ? -ETIMEDOUT : recv(s, b, sizeof b, 0) < 0 ? -errno : 0;
	close(s);
	if (!setting("ESCAPE_OFFLINE"))
		return r == 0 || r == -ETIMEDOUT ? skip("this sandbox may ask") : r;
	return r == 0 ? broken("it answered") : r;
}

static const char host[] = "no service of the host is reachable";
static const char ranges[] = "no private, link-local or metadata address is reachable";

#define NO { ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EACCES, EPERM, EINVAL }
#define A(word, fn) { "reach/" word, ranges, fn, .expect = NO }

static const struct attempt attempts[] = {
	{ "reach/host-services", host, host_services, .expect = NO },
	{ "reach/host-udp", host, host_udp,
	    .expect = { ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EACCES, EPERM, ETIMEDOUT } },
	{ "reach/gateway-services", host, gateway_services, .expect = NO },
	{ "reach/gateway-scan", host, gateway_scan, .expect = NO },
	{ "reach/gateway-mapped", host, mapped, .expect = NO },
	A("metadata", metadata),
	A("metadata-alibaba", metadata_alibaba),
	A("link-local", link_local),
	A("private-10", private_10),
	A("private-172", private_172),
	A("private-192", private_192),
	A("carrier-nat", carrier),
	A("this-network", this_network),
	A("reserved", reserved),
	A("benchmark-range", benchmark),
	A("broadcast", broadcast),
	A("ipv6-link-local", six_local),
	A("ipv6-metadata", six_metadata),
	A("ipv6-private", six_private),
	A("ipv6-public", six_public),
	A("nat64", nat64),
	A("metadata-azure", metadata_azure),
	{ "reach/multicast", "no neighbourhood to be heard in", multicast, .expect = NO },
	{ "reach/resolver-when-offline", "without internet no name is asked for: a query could carry anything out",
	    resolver, .expect = { ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EACCES, EPERM, ETIMEDOUT } },
};
GROUP(reach, "reach");
