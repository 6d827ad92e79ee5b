/* SPDX-License-Identifier: Apache-2.0 */
/* nft_wire: sends a batch of one message, and reads the reply. */
#include "engine/net/nft_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#define BATCH_SIZE 16384
#define ANSWER_MAX 4096

const char *nft_table(char buf[NFT_TABLE_SIZE], uint32_t instance)
{
	(void)snprintf(buf, NFT_TABLE_SIZE, "atoll%u", instance);
	return buf;
}

struct nlmsghdr *nft_head(void *at, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(at);
	struct nfgenmsg *g;

	h->nlmsg_type = (uint16_t)((NFNL_SUBSYS_NFTABLES << 8) | type);
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	g = mnl_nlmsg_put_extra_header(h, sizeof *g);
	g->nfgen_family = NFPROTO_INET;
	g->version = NFNETLINK_V0;
	return h;
}

static void put_mark(struct mnl_nlmsg_batch *b, uint16_t type)
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

/* Returns false if there is no reply. *ret: its error code. */
static bool take_answer(int fd, int *ret)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
	ssize_t got;

	do
		got = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	*ret = -EBADMSG;
	if (got < 0) {
		*ret = -errno;
		return false;
	}
	const struct nlmsghdr *h = (const struct nlmsghdr *)answer;

	if (mnl_nlmsg_ok(h, (int)got) && h->nlmsg_type == NLMSG_ERROR)
		*ret = ((const struct nlmsgerr *)mnl_nlmsg_get_payload(h))->error;
	return true;
}

void nft_drain(int fd)
{
	int ignored;

	while (take_answer(fd, &ignored))
		;
}

/* All replies are queued when send() returns; a batch that fails may have more than one. */
static int ask(int fd, const void *p, size_t n)
{
	int r;

	if (send(fd, p, n, 0) < 0)
		return -errno;
	bool answered = take_answer(fd, &r);

	for (int more; answered && take_answer(fd, &more);)
		r = r == 0 ? more : r;
	return r;
}

int nft_change(int fd, nft_put *put, const void *what)
{
	_Alignas(struct nlmsghdr) char buf[BATCH_SIZE];
	struct mnl_nlmsg_batch *b = mnl_nlmsg_batch_start(buf, sizeof buf / 2);

	if (!b)
		return -ENOMEM;
	put_mark(b, NFNL_MSG_BATCH_BEGIN);
	put(mnl_nlmsg_batch_current(b), what);
	(void)mnl_nlmsg_batch_next(b);
	put_mark(b, NFNL_MSG_BATCH_END);
	int r = ask(fd, mnl_nlmsg_batch_head(b), mnl_nlmsg_batch_size(b));

	mnl_nlmsg_batch_stop(b);
	return r;
}
