/* SPDX-License-Identifier: Apache-2.0 */
/* refusals_rule: netlink messages of fixed form. */
#include "warden/service/refusals_rule.h"

#include <arpa/inet.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/fd.h"

#define READLOG_GROUP 1u /* AUDIT_NLGRP_READLOG */
#define RCVBUF_BYTES (256 * 1024)
#define ANSWER_S 2
#define RULE_MAX 16384

/* Drops everything else before it reaches the socket, and locks the filter: the kernel's audit log has records
 * about the whole host. */
static int lock_to_refusals(int fd)
{
	struct sock_filter code[] = {
		/* loads are in network byte order, the message is not */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(AUDIT_SECCOMP), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { ARRAY_LEN(code), code };
	int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof on) < 0)
		return -errno;
	return 0;
}

/* The kernel sends its records only in the network namespace of its own threads; in another one nothing arrives. */
static bool is_elsewhere(void)
{
	struct stat ours, its;

	return stat("/proc/self/ns/net", &ours) == 0 && stat("/proc/2/ns/net", &its) == 0 && ours.st_ino != its.st_ino;
}

int refusals_socket(int *ret_fd, struct err *e)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = READLOG_GROUP };
	int size = RCVBUF_BYTES;
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	if (fd < 0)
		return err_sys(e, "make a socket to the kernel's audit system");
	if (is_elsewhere())
		return err_set(e, ENONET,
		    "listen to the kernel's audit system: this is not the host's own network namespace");
	if (lock_to_refusals(fd) < 0)
		return err_sys(e, "filter what the kernel's audit system tells");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0)
		return err_sys(e, "listen to the kernel's audit system");
	*ret_fd = take_fd(&fd);
	return 0;
}

struct rule_message {
	struct nlmsghdr head;
	struct audit_rule_data rule; /* no strings follow it */
};

static void add_field(struct audit_rule_data *r, uint32_t field, uint32_t op, uint32_t value)
{
	r->fields[r->field_count] = field;
	r->fieldflags[r->field_count] = op;
	r->values[r->field_count++] = value;
}

static struct rule_message message(uint16_t type, uid_t from, uid_t to)
{
	struct rule_message m = { .head = { .nlmsg_len = sizeof m,
				      .nlmsg_type = type,
				      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
				      .nlmsg_seq = 1 } };

	m.rule.flags = AUDIT_FILTER_EXCLUDE;
	m.rule.action = AUDIT_ALWAYS;
	add_field(&m.rule, AUDIT_MSGTYPE, AUDIT_EQUAL, AUDIT_SECCOMP);
	add_field(&m.rule, AUDIT_UID, AUDIT_GREATER_THAN_OR_EQUAL, from);
	add_field(&m.rule, AUDIT_UID, AUDIT_LESS_THAN_OR_EQUAL, to);
	return m;
}

/* Uses a new socket for each request, so that answers cannot be mixed up. */
static int ask(const void *msg, size_t n, int *ret_fd)
{
	struct timeval patience = { .tv_sec = ANSWER_S };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (sendto(fd, msg, n, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

int refusals_rule_silence(uid_t from, uid_t to, bool silent)
{
	struct rule_message m = message(silent ? AUDIT_ADD_RULE : AUDIT_DEL_RULE, from, to);
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
	} re;
	autoclose int fd = -1;
	int r = ask(&m, sizeof m, &fd);

	if (r < 0)
		return r;
	ssize_t n = recv(fd, &re, sizeof re, 0);

	if (n < 0)
		return -errno;
	return n == sizeof re && re.head.nlmsg_type == NLMSG_ERROR ? re.err.error : -EBADMSG;
}

/* Returns whether the rule was made by refusals_rule_silence() for uids of that range. */
static bool is_ours(const struct audit_rule_data *r, uid_t from, uid_t to)
{
	struct rule_message like = message(0, r->values[1], r->values[2]);
	size_t n = like.rule.field_count;

	return r->flags == like.rule.flags && r->action == like.rule.action && r->field_count == n &&
	    memcmp(r->fields, like.rule.fields, n * sizeof *r->fields) == 0 &&
	    memcmp(r->fieldflags, like.rule.fieldflags, n * sizeof *r->fieldflags) == 0 &&
	    r->values[0] == AUDIT_SECCOMP && r->values[1] >= from && r->values[2] <= to;
}

/* Lists the rules and deletes those found, rather than trying to delete all possible ones: the kernel makes a
 * record of each attempt. */
void refusals_rule_forget(uid_t from, uid_t to)
{
	struct nlmsghdr list = { .nlmsg_len = sizeof list,
		.nlmsg_type = AUDIT_LIST_RULES,
		.nlmsg_flags = NLM_F_REQUEST };
	_Alignas(struct nlmsghdr) char re[RULE_MAX];
	autoclose int fd = -1;

	if (ask(&list, sizeof list, &fd) < 0)
		return;
	for (;;) {
		ssize_t n = recv(fd, re, sizeof re, 0);
		const struct rule_message *m = (const struct rule_message *)re;

		if (n < (ssize_t)sizeof m->head || m->head.nlmsg_type != AUDIT_LIST_RULES)
			return; /* the end of the list, or an error */
		if (n >= (ssize_t)sizeof *m && is_ours(&m->rule, from, to))
			(void)refusals_rule_silence(m->rule.values[1], m->rule.values[2], false);
	}
}
