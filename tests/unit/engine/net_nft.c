/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/net_nft: the text of the firewall. */
#include <stdint.h>

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "engine/engine.h"
#include "engine/net/cap.h"
#include "engine/net/nft.h"
#include "engine/net/policy.h"
#include "engine/net/refused.h"
#include "unit.h"

static void every_slot_is_pinned_once(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20);
	const char *text;

	(void)state;
	nft_ruleset(&b, &(struct nft_config) { .instance = 2, .slots = 2000 });
	text = buf_cstr(&b);
	assert_non_null(text);
	assert_non_null(strstr(text, "\"at2s0\" . 02:a7:02:01:00:00 . 10.202.1.0,"));
	assert_non_null(strstr(text, "\"at2s1999\" . 02:a7:02:01:07:cf . 10.202.8.207\n"));
	assert_null(strstr(strstr(text, "\"at2s1999\"") + 1, "\"at2s1999\""));
	assert_null(strstr(text, "at2s2000"));
}

static void the_table_is_replaced_as_a_whole(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20);

	(void)state;
	nft_ruleset(&b, &(struct nft_config) { .instance = 2, .slots = 1 });
	assert_int_equal(
	    strncmp(buf_cstr(&b), "table inet atoll2\ndelete table inet atoll2\ntable inet atoll2 {\n", 60), 0);
	assert_non_null(strstr(buf_cstr(&b), "ip daddr 10.202.0.1 "));
}

/* C5: one port of one address, and only what came by it. */
static void names_lead_to_one_door(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20), none = BUF_INIT(1 << 20);

	(void)state;
	nft_ruleset(&b, &(struct nft_config) { .instance = 2, .slots = 1, .names_port = 8080, .names_door = 55 });
	const char *text = buf_cstr(&b);

	assert_non_null(strstr(text, "ip daddr 10.202.0.2 tcp dport 8080 dnat ip to 10.202.0.1:55\n"));
	assert_non_null(strstr(text, "ip daddr 10.202.0.1 tcp dport 55 ct status dnat accept\n"));
	assert_true(strstr(text, "iifname @silent jump refuse") < strstr(text, "tcp dport 55 ct status dnat accept"));
	nft_ruleset(&none, &(struct nft_config) { .instance = 2, .slots = 1, .names_door = 55 });
	assert_null(strstr(buf_cstr(&none), "10.202.0.2"));
	assert_null(strstr(buf_cstr(&none), "dport 55"));
}

static void silent_slots_stay_silent(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20), none = BUF_INIT(1 << 20);
	uint32_t silent[] = { 5, 17 };

	(void)state;
	nft_ruleset(&b, &(struct nft_config) { .slots = 20, .silent = silent, .n_silent = 2 });
	assert_non_null(strstr(buf_cstr(&b), "elements = { \"at0s5\", \"at0s17\" }"));
	nft_ruleset(&none, &(struct nft_config) { .slots = 20 });
	assert_null(strstr(buf_cstr(&none), "{ \"at0s"));
}

/* --- with tables of others -- in a network namespace of our own, in a child ------------------------------------- */

static struct nlmsghdr *message(struct mnl_nlmsg_batch *b, uint16_t type, uint16_t flags, uint8_t family, uint16_t res)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(mnl_nlmsg_batch_current(b));
	struct nfgenmsg *g;

	h->nlmsg_type = type;
	h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	g = mnl_nlmsg_put_extra_header(h, sizeof *g);
	g->nfgen_family = family;
	g->res_id = htons(res);
	return h;
}

/* A set whose key is "typeof" an expression that no version of the library knows, as an older one sees what a newer one
 * has made. */
static void put_foreign_set(struct mnl_nlmsg_batch *b)
{
	/* of libnftnl: type, length, value; 3: typeof of the key, in it 0: which expression, 1: its data */
	static const uint8_t key[] = { 3, 8, 0, 4, 99, 0, 0, 0, 1, 0 };
	struct nlmsghdr *h = message(b, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWSET, NLM_F_CREATE | NLM_F_ACK,
	    NFPROTO_INET, 0);

	mnl_attr_put_strz(h, NFTA_SET_TABLE, "foreign");
	mnl_attr_put_strz(h, NFTA_SET_NAME, "s");
	mnl_attr_put_u32(h, NFTA_SET_FLAGS, 0);
	mnl_attr_put_u32(h, NFTA_SET_KEY_TYPE, htonl(7));
	mnl_attr_put_u32(h, NFTA_SET_KEY_LEN, htonl(4));
	mnl_attr_put_u32(h, NFTA_SET_ID, htonl(1));
	mnl_attr_put(h, NFTA_SET_USERDATA, sizeof key, key);
	(void)mnl_nlmsg_batch_next(b);
}

static void put_table(struct mnl_nlmsg_batch *b, const char *name, uint16_t flags)
{
	mnl_attr_put_strz(message(b, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE, flags, NFPROTO_INET, 0),
	    NFTA_TABLE_NAME, name);
	(void)mnl_nlmsg_batch_next(b);
}

/* Makes that table, with or without the set. 0 or -errno, without any help of the library. */
static int make_table(const char *name, bool set)
{
	char buf[4096], answer[4096];
	struct mnl_nlmsg_batch *b = mnl_nlmsg_batch_start(buf, sizeof buf / 2);
	int fd = nft_open(), r = -EIO;

	(void)message(b, NFNL_MSG_BATCH_BEGIN, 0, 0, NFNL_SUBSYS_NFTABLES);
	(void)mnl_nlmsg_batch_next(b);
	put_table(b, name, (uint16_t)(NLM_F_CREATE | NLM_F_EXCL | (set ? 0 : NLM_F_ACK)));
	if (set)
		put_foreign_set(b);
	(void)message(b, NFNL_MSG_BATCH_END, 0, 0, NFNL_SUBSYS_NFTABLES);
	(void)mnl_nlmsg_batch_next(b);
	if (send(fd, mnl_nlmsg_batch_head(b), mnl_nlmsg_batch_size(b), 0) >= 0 &&
	    recv(fd, answer, sizeof answer, 0) > 0)
		r = ((struct nlmsgerr *)mnl_nlmsg_get_payload((struct nlmsghdr *)answer))->error;
	mnl_nlmsg_batch_stop(b);
	fd_close(fd);
	return r;
}

enum { ALL_WELL, CANNOT, NOT_MADE, NO_REASON, NOT_THERE, STAYED_BEHIND };

static int with_foreign(void)
{
	struct err e = ERR_INIT;

	if (unshare(CLONE_NEWNET) < 0 || nft_run("table inet atoll3\n", &e) < 0)
		return CANNOT;
	if (make_table("foreign", true) < 0)
		return NOT_MADE;
	/* Whether the library of this host can read it or dies of it: we get to know, and live. */
	if (nft_load(&(struct nft_config) { .instance = 3, .slots = 1 }, &e) < 0 &&
	    (!e.no || !strstr(e.text, "nftables")))
		return NO_REASON;
	if (make_table("atoll3", false) != -EEXIST)
		return NOT_THERE;
	nft_unload(3);
	nft_unload(3); /* not there: no harm */
	if (make_table("atoll3", false) < 0)
		return STAYED_BEHIND;
	return ALL_WELL;
}

static int with_a_policy(void)
{
	/* "create" fails if it is there */
	static const char check[] =
	    "create chain inet atoll3 rules0\ncreate chain inet atoll3 divert0\n"
	    "create quota inet atoll3 q0 over 1 bytes\ncreate limit inet atoll3 r0 rate over 1 bytes/second\n"
	    "create element inet atoll3 ruled { \"at3s0\" : jump rules0 }\ncreate element inet atoll3 capped { "
	    "\"at3s0\" : \"q0\" }\n"
	    "create element inet atoll3 mute { \"at3s0\" }\ncreate element inet atoll3 silent { \"at3s0\" }\n";
	const struct engine_policy p = { .deny_all = true, .no_dns = true, .ports = { { 443, 443 } }, .n_ports = 1 };
	const struct net_cap cap = { .bytes = 1000, .bytes_s = 1000 };
	struct err e = ERR_INIT;
	int fd;

	if (unshare(CLONE_NEWNET) < 0 || nft_load(&(struct nft_config) { .instance = 3, .slots = 2 }, &e) < 0)
		return CANNOT;
	fd = nft_open();
	if (net_policy_set(3, 0, 3128, true, &p, &e) < 0 || net_cap_set(3, 0, &cap, &e) < 0 || nft_run(check, &e) == 0)
		return NOT_MADE;
	e = ERR_INIT;
	if (nft_forget(fd, 3, 0, &e) < 0 || nft_run(check, &e) < 0)
		return STAYED_BEHIND;
	/* also what was never there */
	return nft_forget(fd, 3, 0, &e) < 0 || nft_forget(fd, 3, 1, &e) < 0 ? NO_REASON : ALL_WELL;
}

/* More than go in one message, of two sandboxes; each is told once. */
static int with_refusals(void)
{
	autobuf struct buf b = BUF_INIT(1 << 16);
	struct engine_refusal v[ENGINE_REFUSALS_MAX];
	bool seen[151] = { false };
	struct err e = ERR_INIT;
	int fd;

	if (unshare(CLONE_NEWNET) < 0 || nft_load(&(struct nft_config) { .instance = 3, .slots = 20 }, &e) < 0)
		return CANNOT;
	fd = nft_open();
	if (net_refused_take(fd, 3, v, ENGINE_REFUSALS_MAX) != 0)
		return NO_REASON;
	for (int i = 1; i <= 150; i++)
		buf_fmt(&b, "add element inet atoll3 refused { \"at3s%d\" . 192.0.2.%d . %s . %d }\n", i % 2 ? 1 : 17,
		    i, i % 3 ? "tcp" : "udp", 1000 + i);
	if (nft_run(buf_cstr(&b), &e) < 0)
		return NOT_MADE;
	if (net_refused_take(fd, 3, v, 100) != 100) /* no more than there is room for: the others stay */
		return NOT_THERE;
	for (int round = 0, n = 100; round < 2; round++, n = net_refused_take(fd, 3, v, ENGINE_REFUSALS_MAX)) {
		for (int k = 0; k < n; k++) {
			unsigned i = v[k].port - 1000u;

			if (i < 1 || i > 150 || seen[i] || v[k].ip != (0xc0000200u | i) ||
			    v[k].slot != (i % 2 ? 1u : 17u) || v[k].proto != (i % 3 ? IPPROTO_TCP : IPPROTO_UDP))
				return NO_REASON;
			seen[i] = true;
		}
	}
	for (int i = 1; i <= 150; i++) {
		if (!seen[i])
			return NOT_THERE;
	}
	return net_refused_take(fd, 3, v, ENGINE_REFUSALS_MAX) == 0 && net_refused_take(fd, 4, v, 1) == -ENOENT
	    ? ALL_WELL
	    : STAYED_BEHIND;
}

static int in_child(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL); /* cmocka has its own idea of what a crash means */
		(void)signal(SIGABRT, SIG_DFL);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT)
		skip(); /* not root, or no nftables in this kernel */
	return WEXITSTATUS(status);
}

static void nothing_of_a_slot_is_left(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_a_policy), ALL_WELL);
}

static void what_was_refused_is_told_once(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_refusals), ALL_WELL);
}

static void tables_of_others_do_no_harm(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_foreign), ALL_WELL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_is_pinned_once),
		cmocka_unit_test(the_table_is_replaced_as_a_whole),
		cmocka_unit_test(silent_slots_stay_silent),
		cmocka_unit_test(names_lead_to_one_door),
		cmocka_unit_test(nothing_of_a_slot_is_left),
		cmocka_unit_test(what_was_refused_is_told_once),
		cmocka_unit_test(tables_of_others_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
