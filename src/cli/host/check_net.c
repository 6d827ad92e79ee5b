/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check_net: nftables, veth, forwarding, the resolver, the address to listen on. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/host/check.h"
#include "cli/host/listen.h"
#include "client/atoll.h"

/* --- netlink: one request and its acknowledgement --- */

struct nl_msg {
	struct nlmsghdr head;
	char body[256];
};

static int netlink_ask(int protocol, struct nl_msg *m)
{
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct timeval patience = { .tv_sec = 5 };
	char answer[4096];

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, m, m->head.nlmsg_len, 0) < 0)
		return -errno;
	ssize_t n = recv(fd, answer, sizeof(answer), 0);
	const struct nlmsghdr *h = (const struct nlmsghdr *)answer;

	if (n < 0)
		return -errno;
	if (!NLMSG_OK(h, (size_t)n))
		return -EBADMSG;
	return h->nlmsg_type == NLMSG_ERROR ? ((const struct nlmsgerr *)NLMSG_DATA(h))->error : 0;
}

static int probe_nftables(void *arg)
{
	struct nl_msg m = { .head = {
				.nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg)),
				.nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN,
				.nlmsg_flags = NLM_F_REQUEST,
			    } };

	(void)arg;
	return netlink_ask(NETLINK_NETFILTER, &m);
}

void check_nftables(const struct check_host *h, struct check_result *r)
{
	(void)h;
	if (!check_is_root(r))
		return;
	int rc = child_probe(probe_nftables, NULL);
	if (rc == 0) {
		check_found(r, CHECK_OK, "supported by the kernel");
		return;
	}
	check_found(r, CHECK_FAIL, "cannot be used: %s", strerrordesc_np(-rc));
	check_remedy(r,
	    rc == -EPERM ? "run atoll on the host with full root privileges"
			 : "modprobe nf_tables; if the module is missing, boot a distribution kernel");
}

static void put_attr(struct nl_msg *m, unsigned short type, const char *text)
{
	size_t n = strlen(text) + 1;
	struct rtattr *a = (struct rtattr *)((char *)m + NLMSG_ALIGN(m->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), text, n);
	m->head.nlmsg_len = NLMSG_ALIGN(m->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static int probe_veth(void *arg)
{
	struct nl_msg m = { .head = {
				.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
				.nlmsg_type = RTM_NEWLINK,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
			    } };

	(void)arg;
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	struct rtattr *info = (struct rtattr *)((char *)&m + NLMSG_ALIGN(m.head.nlmsg_len));
	m.head.nlmsg_len = NLMSG_ALIGN(m.head.nlmsg_len) + RTA_LENGTH(0);
	put_attr(&m, IFLA_INFO_KIND, "veth");
	info->rta_type = IFLA_LINKINFO;
	info->rta_len = (unsigned short)((char *)&m + m.head.nlmsg_len - (char *)info);
	return netlink_ask(NETLINK_ROUTE, &m);
}

void check_veth(const struct check_host *h, struct check_result *r)
{
	(void)h;
	if (!check_is_root(r))
		return;
	int rc = child_probe(probe_veth, NULL);
	if (rc == 0) {
		check_found(r, CHECK_OK, "a pair can be created");
		return;
	}
	check_found(r, CHECK_FAIL, "a pair cannot be created: %s", strerrordesc_np(-rc));
	check_remedy(r,
	    rc == -EOPNOTSUPP ? "modprobe veth; if the module is missing, boot a distribution kernel"
			      : "run atoll on the host with full root privileges");
}

/* --- forwarding --- */

void check_forwarding(const struct check_host *h, struct check_result *r)
{
	static const char path[] = "/proc/sys/net/ipv4/ip_forward";
	char text[16];

	(void)h;
	if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		check_found(r, CHECK_WARN, "%s cannot be read", path);
	else if (text[0] == '1')
		check_found(r, CHECK_OK, "on");
	else if (geteuid() == 0 && access(path, W_OK) == 0)
		check_found(r, CHECK_OK, "off; the server turns it on when it starts");
	else
		check_found(r, CHECK_WARN, "off; a server started by root turns it on");
}

/* Finds the first chain in the output of `nft list chains` that drops forwarded packets: "table ip filter {", "chain
 * FORWARD {", "type filter hook forward priority filter; policy drop;". */
static bool find_forward_drop(char *listing, char *ret, size_t size)
{
	char table[96] = "", chain[96] = "", *save;

	for (char *line = strtok_r(listing, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		(void)sscanf(line, "table %95[^{\n]", table);
		(void)sscanf(line, "chain %95[^{\n]", chain);
		if (!strstr(line, "hook forward") || !strstr(line, "policy drop"))
			continue;
		(void)snprintf(ret, size, "%s%.*s", table, (int)strcspn(chain, " "), chain);
		return true;
	}
	return false;
}

void check_forward_policy(const struct check_host *h, struct check_result *r)
{
	static const char *const argv[] = { "nft", "list", "chains", NULL };
	char chain[200];
	struct err e = ERR_INIT;
	int status = 0;

	(void)h;
	if (!check_is_root(r))
		return;
	autofree char *listing = malloc(256 * 1024);
	if (!listing || child_output(argv, listing, 256 * 1024, &status, &e) < 0 || status != 0) {
		check_found(r, CHECK_WARN, "not checked: 'nft list chains' does not work");
		check_remedy(r, "apt-get install nftables");
		return;
	}
	if (!find_forward_drop(listing, chain, sizeof(chain))) {
		check_found(r, CHECK_OK, "no firewall chain drops forwarded packets by default");
		return;
	}
	check_found(r, CHECK_WARN,
	    "chain '%s' drops forwarded packets, as Docker and firewalls configure: sandboxes may have no network",
	    chain);
	check_remedy(r,
	    "accept traffic of interfaces named at*; with Docker: iptables -I DOCKER-USER -i at+ -j ACCEPT; iptables "
	    "-I DOCKER-USER -o at+ -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT");
}

/* --- names and addresses --- */

void check_resolver(const struct check_host *h, struct check_result *r)
{
	char line[512], first[64] = "";
	unsigned n = 0;
	FILE *f = fopen("/etc/resolv.conf", "re");

	(void)h;
	while (f && fgets(line, sizeof(line), f)) {
		char name[64];

		if (sscanf(line, "nameserver %63s", name) != 1)
			continue;
		if (n++ == 0)
			memcpy(first, name, sizeof(first));
	}
	if (f)
		(void)fclose(f);
	if (n == 0) {
		check_found(r, CHECK_WARN, "/etc/resolv.conf lists no nameserver: sandboxes cannot resolve names");
		check_remedy(r, "configure a nameserver for the host");
	} else {
		check_found(r, CHECK_OK, "%u nameserver%s, the first is %s", n, n == 1 ? "" : "s", first);
	}
}

static bool server_answers(const char *listen_on)
{
	autofree char *url = str_fmt("http://%s", listen_on);
	struct atoll_config cfg = { .api_url = url, .api_key = "none", .no_env = true };
	struct atoll_error e;
	struct atoll *a;

	if (!url || atoll_new(&cfg, &a, &e) < 0)
		return false;
	int rc = atoll_health(a, &e);
	atoll_free(a);
	return rc == 0;
}

void check_listen(const struct check_host *h, struct check_result *r)
{
	struct listen_addr addr;
	struct err e = ERR_INIT;
	int on = 1;

	if (listen_parse(h->listen, &addr, &e) < 0) {
		check_found(r, CHECK_FAIL, "%s", e.text);
		return;
	}
	autoclose int fd = socket(addr.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&addr.sa, addr.len) == 0 && listen(fd, 1) == 0) {
		check_found(r, CHECK_OK, "%s is free (no server is running there)", h->listen);
		return;
	}
	int no = errno;
	if (no == EADDRINUSE && server_answers(h->listen)) {
		check_found(r, CHECK_OK, "a server is running on %s", h->listen);
		return;
	}
	check_found(r, CHECK_FAIL, "%s cannot be used: %s", h->listen, strerrordesc_np(no));
	check_remedy(r, "choose another address: atoll serve --listen ADDRESS:PORT");
}
