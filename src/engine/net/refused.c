/* SPDX-License-Identifier: Apache-2.0 */
/* net_refused: reads the elements of a set, then deletes them. */
#include "engine/net/refused.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/engine.h"
#include "engine/net/nft_wire.h"
#include "engine/slot.h"

#define SET "refused"
#define ANSWER_MAX 32768
#define AT_ONCE 64 /* per message */

struct key { /* of an element, in the kernel's layout: each part padded to four bytes */
	char veth[16];
	uint32_t ip; /* network byte order, like port */
	uint8_t proto, pad[3];
	uint16_t port;
	uint8_t pad2[2];
};

struct taken {
	uint32_t instance;
	struct engine_refusal *ret;
	struct key keys[ENGINE_REFUSALS_MAX];
	size_t n, max;
};

static int slot_of(const struct taken *t, const char *veth, uint32_t *ret)
{
	unsigned instance, k;
	char end;

	if (sscanf(veth, "at%us%u%c", &instance, &k, &end) != 2 || instance != t->instance || k >= SLOT_MAX)
		return -EBADMSG;
	*ret = k;
	return 0;
}

static void take_key(struct taken *t, const struct nlattr *value)
{
	struct key k;
	uint32_t slot;

	if (mnl_attr_get_payload_len(value) != sizeof k || t->n == t->max)
		return;
	memcpy(&k, mnl_attr_get_payload(value), sizeof k);
	t->keys[t->n] = k;
	k.veth[sizeof k.veth - 1] = '\0';
	if (slot_of(t, k.veth, &slot) < 0)
		return;
	t->ret[t->n++] =
	    (struct engine_refusal) { .slot = slot, .ip = ntohl(k.ip), .port = ntohs(k.port), .proto = k.proto };
}

static void take_elements(struct taken *t, const struct nlmsghdr *h)
{
	const struct nlattr *list, *elem, *part, *value;

	mnl_attr_for_each(list, h, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(list) != NFTA_SET_ELEM_LIST_ELEMENTS)
			continue;
		mnl_attr_for_each_nested(elem, list)
		{
			mnl_attr_for_each_nested(part, elem)
			{
				if (mnl_attr_get_type(part) != NFTA_SET_ELEM_KEY)
					continue;
				mnl_attr_for_each_nested(value, part)
				{
					if (mnl_attr_get_type(value) == NFTA_DATA_VALUE)
						take_key(t, value);
				}
			}
		}
	}
}

static struct nlmsghdr *put_set(void *at, uint16_t type, uint16_t flags, uint32_t instance)
{
	struct nlmsghdr *h = nft_head(at, type, flags);
	char table[NFT_TABLE_SIZE];

	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_TABLE, nft_table(table, instance));
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_SET, SET);
	return h;
}

/* 1: more will follow; 0: that was all. */
static int take_answer(struct taken *t, const char *p, int n)
{
	for (const struct nlmsghdr *h = (const struct nlmsghdr *)p; mnl_nlmsg_ok(h, n); h = mnl_nlmsg_next(h, &n)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(h))->error;
		if (h->nlmsg_type == ((NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWSETELEM))
			take_elements(t, h);
	}
	return 1;
}

/* The kernel's replies are queued before send() returns, so the warden's loop never waits here. */
static int receive(int fd, char *p, size_t size)
{
	ssize_t n;

	do
		n = recv(fd, p, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static int read_set(int fd, struct taken *t)
{
	_Alignas(struct nlmsghdr) char buf[ANSWER_MAX];
	const struct nlmsghdr *h = put_set(buf, NFT_MSG_GETSETELEM, NLM_F_DUMP, t->instance);
	int r = 1;

	if (send(fd, buf, h->nlmsg_len, 0) < 0)
		return -errno;
	while (r == 1) {
		int n = receive(fd, buf, sizeof buf);

		r = n < 0 ? n : take_answer(t, buf, n);
	}
	return r;
}

struct some { /* a part of those that were read */
	const struct taken *t;
	size_t from, n;
};

static void put_gone(void *at, const void *what)
{
	const struct some *s = what;
	struct nlmsghdr *h = put_set(at, NFT_MSG_DELSETELEM, NLM_F_ACK, s->t->instance);
	struct nlattr *list = mnl_attr_nest_start(h, NFTA_SET_ELEM_LIST_ELEMENTS);

	for (size_t i = s->from; i < s->from + s->n; i++) {
		struct nlattr *elem = mnl_attr_nest_start(h, NFTA_LIST_ELEM),
			      *key = mnl_attr_nest_start(h, NFTA_SET_ELEM_KEY);

		mnl_attr_put(h, NFTA_DATA_VALUE, sizeof s->t->keys[i], &s->t->keys[i]);
		mnl_attr_nest_end(h, key);
		mnl_attr_nest_end(h, elem);
	}
	mnl_attr_nest_end(h, list);
}

/* Deletes exactly those that were read: entries added meanwhile stay for the next call. */
int net_refused_take(int fd, uint32_t instance, struct engine_refusal *ret, size_t max)
{
	struct taken t = { .instance = instance,
		.ret = ret,
		.max = max < ENGINE_REFUSALS_MAX ? max : ENGINE_REFUSALS_MAX };
	int r = read_set(fd, &t);
	size_t done = 0;

	nft_drain(fd); /* leftovers of a read that failed half-way */
	while (r == 0 && done < t.n) {
		struct some s = { &t, done, t.n - done < AT_ONCE ? t.n - done : AT_ONCE };

		r = nft_change(fd, put_gone, &s);
		done += r == 0 ? s.n : 0;
	}
	return done == 0 && r < 0 ? r : (int)done; /* deleted entries must be reported: they cannot be read again */
}
