/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/listen: parses "ADDRESS:PORT". */
#include "cli/host/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/str.h"

int listen_parse(const char *text, struct listen_addr *ret, struct err *e)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;

	*ret = (struct listen_addr) { .len = 0 };
	if (!colon || str_to_u64(str_of(colon + 1), 65535, &port) < 0)
		return err_set(e, EINVAL, "'%s' is not of the form ADDRESS:PORT", text);
	struct str addr = { text, (size_t)(colon - text) };
	bool six = addr.n > 2 && addr.p[0] == '[' && addr.p[addr.n - 1] == ']';
	if (six) {
		str_skip(&addr, 1);
		addr.n--;
	}
	struct sockaddr_in *in4 = (struct sockaddr_in *)&ret->sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->sa;
	if (str_copy(host, sizeof(host), addr) && six && inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)port);
		ret->len = sizeof(*in6);
		return 0;
	}
	if (!six && inet_pton(AF_INET, host, &in4->sin_addr) == 1) {
		in4->sin_family = AF_INET;
		in4->sin_port = htons((uint16_t)port);
		ret->len = sizeof(*in4);
		return 0;
	}
	return err_set(e, EINVAL, "'%s' has no numeric address before the port (such as 127.0.0.1:8080 or [::1]:8080)",
	    text);
}
