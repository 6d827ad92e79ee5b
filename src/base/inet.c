/* SPDX-License-Identifier: Apache-2.0 */
/* inet: strict parsing, and the one list of closed ranges. */
#include "base/inet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

#define A(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

static const struct inet_range private_ranges[] = {
	{ A(0, 0, 0, 0), 8 },
	{ A(10, 0, 0, 0), 8 },
	{ A(100, 64, 0, 0), 10 },
	{ A(127, 0, 0, 0), 8 },
	{ A(168, 63, 129, 16), 32 }, /* Azure's WireServer, which configures virtual machines; not public */
	{ A(169, 254, 0, 0), 16 },
	{ A(172, 16, 0, 0), 12 },
	{ A(192, 0, 0, 0), 24 },
	{ A(192, 168, 0, 0), 16 },
	{ A(198, 18, 0, 0), 15 },
	{ A(224, 0, 0, 0), 3 },
};

static const struct inet_range never[] = {
	{ A(0, 0, 0, 0), 8 },
	{ A(10, 200, 0, 0), 13 }, /* the sandboxes of all instances: 10.200 to 10.215 */
	{ A(10, 208, 0, 0), 13 },
	{ A(127, 0, 0, 0), 8 },
	{ A(168, 63, 129, 16), 32 },
	{ A(169, 254, 0, 0), 16 },
	{ A(224, 0, 0, 0), 3 },
};

static uint32_t mask_of(uint8_t len)
{
	return len == 0 ? 0 : ~0u << (32 - len);
}

int inet_parse(struct str text, struct inet_range *ret)
{
	struct str len = text;
	struct str host = str_cut(&len, '/');
	char z[INET_ADDRSTRLEN];
	struct in_addr a;
	uint64_t bits = 32;

	if (!str_copy(z, sizeof z, host) || strlen(z) != host.n || inet_pton(AF_INET, z, &a) != 1)
		return -EINVAL;
	if (len.p && (len.n == 0 || len.n > 2 || str_to_u64(len, 32, &bits) < 0))
		return -EINVAL;
	*ret = (struct inet_range) { ntohl(a.s_addr) & mask_of((uint8_t)bits), (uint8_t)bits };
	return 0;
}

bool inet_is_v6(struct str text)
{
	struct str len = text;
	struct str host = str_cut(&len, '/');
	char z[INET6_ADDRSTRLEN];
	struct in6_addr a;
	uint64_t bits = 0;

	if (!str_copy(z, sizeof z, host) || strlen(z) != host.n || inet_pton(AF_INET6, z, &a) != 1)
		return false;
	return !len.p || (len.n > 0 && len.n <= 3 && str_to_u64(len, 128, &bits) == 0);
}

const char *inet_text(uint32_t ip, char ret[INET_TEXT_SIZE])
{
	_Static_assert(INET_TEXT_SIZE >= INET_ADDRSTRLEN, "it fits");
	return inet_ntop(AF_INET, &(struct in_addr) { htonl(ip) }, ret, INET_TEXT_SIZE);
}

int inet_ports_parse(struct str text, uint16_t *ret_lo, uint16_t *ret_hi)
{
	struct str last = text;
	struct str first = str_cut(&last, '-');
	uint64_t lo, hi;

	if (str_to_u64(first, 65535, &lo) < 0 || lo == 0)
		return -EINVAL;
	hi = lo;
	if (last.p && (str_to_u64(last, 65535, &hi) < 0 || hi < lo))
		return -EINVAL;
	*ret_lo = (uint16_t)lo;
	*ret_hi = (uint16_t)hi;
	return 0;
}

bool inet_in(struct inet_range r, uint32_t ip)
{
	return (ip & mask_of(r.len)) == r.ip;
}

bool inet_overlap(struct inet_range a, struct inet_range b)
{
	return a.len < b.len ? inet_in(a, b.ip) : inet_in(b, a.ip);
}

size_t inet_private(struct inet_range ret[INET_PRIVATE_MAX])
{
	_Static_assert(ARRAY_LEN(private_ranges) <= INET_PRIVATE_MAX, "they fit");
	memcpy(ret, private_ranges, sizeof private_ranges);
	return ARRAY_LEN(private_ranges);
}

bool inet_is_private(uint32_t ip)
{
	for (size_t i = 0; i < ARRAY_LEN(private_ranges); i++) {
		if (inet_in(private_ranges[i], ip))
			return true;
	}
	return false;
}

bool inet_never_open(struct inet_range r)
{
	for (size_t i = 0; i < ARRAY_LEN(never); i++) {
		if (inet_overlap(never[i], r))
			return true;
	}
	return false;
}

static bool v6_is_private(const unsigned char *a)
{
	static const unsigned char zero[12], mapped[12] = { [10] = 0xff, [11] = 0xff },
					     nat64[12] = { 0x00, 0x64, 0xff, 0x9b };
	uint32_t low = (uint32_t)a[12] << 24 | (uint32_t)a[13] << 16 | (uint32_t)a[14] << 8 | a[15];

	if (memcmp(a, zero, 12) == 0) /* ::, ::1 and IPv4-compatible addresses */
		return true;
	if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0)
		return inet_is_private(low);
	if (a[0] == 0x20 && a[1] == 0x02) /* 6to4: the IPv4 address follows the prefix */
		return inet_is_private((uint32_t)a[2] << 24 | (uint32_t)a[3] << 16 | (uint32_t)a[4] << 8 | a[5]);
	if (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0 && a[3] == 0) /* Teredo */
		return true;
	return (a[0] & 0xfe) == 0xfc || (a[0] == 0xfe && (a[1] & 0x80)) || a[0] == 0xff ||
	    (a[0] == 0x00 && a[1] == 0x64);
}

bool inet_addr_is_private(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return inet_is_private(ntohl(((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr));
	if (sa->sa_family == AF_INET6)
		return v6_is_private(((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr);
	return true;
}

bool inet_addr_never_open(const struct sockaddr *sa)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff }, nat64[12] = { 0x00, 0x64, 0xff, 0x9b };
	static const unsigned char metadata[4] = { 0xfd, 0x00, 0x0e, 0xc2 }; /* metadata service of a cloud provider */
	const unsigned char *a = ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr;
	uint32_t ip;

	if (sa->sa_family == AF_INET)
		ip = ntohl(((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr);
	else if (sa->sa_family != AF_INET6 || a[0] == 0xff || (a[0] == 0xfe && (a[1] & 0xc0) == 0x80))
		return true;
	else if (memcmp(a, metadata, sizeof metadata) == 0)
		return true;
	else if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0)
		ip = A(a[12], a[13], a[14], a[15]);
	else if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 */
		ip = A(a[2], a[3], a[4], a[5]);
	else
		return false;
	return ip >> 24 != 127 && (ip == A(100, 100, 100, 200) || inet_never_open((struct inet_range) { ip, 32 }));
}
