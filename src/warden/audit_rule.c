/* SPDX-License-Identifier: Apache-2.0 */
/* audit_rule: netlink messages of fixed form. */
#include "warden/audit_rule.h"

#include <arpa/inet.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/fd.h"

#define READLOG_GROUP 1u /* AUDIT_NLGRP_READLOG */
#define RCVBUF_BYTES (256 * 1024)
#define ANSWER_S 2

/* Everything that is not such a record is dropped before it reaches the socket, and the filter cannot be taken
 * off again: the kernel's audit log tells of all that happens on the host. */
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

int audit_socket(int *ret_fd, struct err *e)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = READLOG_GROUP };
	int size = RCVBUF_BYTES;
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	if (fd < 0)
		return err_sys(e, "make a socket to the kernel's audit system");
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
	struct audit_rule_data rule; /* with no strings behind it */
};

static void add_field(struct audit_rule_data *r, uint32_t field, uint32_t op, uint32_t value)
{
	r->fields[r->field_count] = field;
	r->fieldflags[r->field_count] = op;
	r->values[r->field_count++] = value;
}

static int answer_of(int fd)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
	} re;
	ssize_t n = recv(fd, &re, sizeof re, 0);

	if (n < 0)
		return -errno;
	return n == sizeof re && re.head.nlmsg_type == NLMSG_ERROR ? re.err.error : -EBADMSG;
}

int audit_rule_silence(uid_t from, uid_t to, bool silent)
{
	struct timeval patience = { .tv_sec = ANSWER_S };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct rule_message m = { .head = { .nlmsg_len = sizeof m,
					  .nlmsg_type = silent ? AUDIT_ADD_RULE : AUDIT_DEL_RULE,
					  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
					  .nlmsg_seq = 1 } };
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	if (fd < 0)
		return -errno;
	m.rule.flags = AUDIT_FILTER_EXCLUDE;
	m.rule.action = AUDIT_ALWAYS;
	add_field(&m.rule, AUDIT_MSGTYPE, AUDIT_EQUAL, AUDIT_SECCOMP);
	add_field(&m.rule, AUDIT_UID, AUDIT_GREATER_THAN_OR_EQUAL, from);
	add_field(&m.rule, AUDIT_UID, AUDIT_LESS_THAN_OR_EQUAL, to);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (sendto(fd, &m, sizeof m, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
		return -errno;
	return answer_of(fd);
}
