/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-refusals: reads from the kernel which system calls it refused to which process, and reports them to the
 * warden. The warden starts it without privileges and with three fds: 3 is the link to the warden, 4 has its
 * options (ipc/settings.h), 5 is a socket that the warden has bound to the kernel's audit log and restricted to records
 * of this one kind.
 *
 * So no process of atoll holds CAP_AUDIT_READ while there is anything to read, and no text, not even the
 * kernel's, is parsed as root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "ipc/settings.h"
#include "refusals/confine.h"
#include "refusals/record.h"
#include "refusals/tally.h"

enum { FD_WARDEN = 3, FD_AUDIT = OPTIONS_FD + 1 };

#define ROUND_MAX 256 /* records read at a time */
#define REST_MS 20    /* pause after that many: bounds the cost of a flood for the machine */
#define RECORD_MAX 8192

static uint32_t pid_inside(uint32_t pid, uint32_t slot_base)
{
	char path[32], text[4096];

	(void)snprintf(path, sizeof path, "/proc/%u/status", pid);
	ssize_t n = file_read(AT_FDCWD, path, text, sizeof text);

	return n <= 0 ? 0
		      : record_pid_inside((struct str) { text, (size_t)n }, slot_base, slot_base + TALLY_SLOT_UIDS - 1);
}

static void take_record(struct tally *t, const char *p, size_t n)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)p;
	struct record r;

	/* In some kernels nlmsg_len is the length of the text alone, so the size of the packet is used. */
	if (n <= NLMSG_HDRLEN || h->nlmsg_type != AUDIT_SECCOMP)
		return;
	if (record_parse((struct str) { p + NLMSG_HDRLEN, strnlen(p + NLMSG_HDRLEN, n - NLMSG_HDRLEN) }, &r) < 0)
		return;
	struct au_event *ev = refusals_tally_add(t, &r, clock_mono_ms());

	if (ev)
		ev->pid = pid_inside(r.pid, r.uid - r.uid % TALLY_SLOT_UIDS);
}

static void read_some(struct tally *t)
{
	_Alignas(struct nlmsghdr) char msg[RECORD_MAX];
	size_t i;

	for (i = 0; i < ROUND_MAX; i++) {
		ssize_t n = recv(FD_AUDIT, msg, sizeof msg, MSG_DONTWAIT);

		if (n < 0 && errno == ENOBUFS) /* records were lost, which is expected in a flood */
			continue;
		if (n <= 0)
			return;
		take_record(t, msg, (size_t)n);
	}
	(void)nanosleep(&(struct timespec) { .tv_nsec = REST_MS * 1000000L }, NULL);
}

/* Does not block if the warden is busy: these events may be lost. */
static void tell(struct tally *t)
{
	struct au_event ev;

	while (tally_take(t, clock_mono_ms(), &ev))
		(void)send(FD_WARDEN, &ev, sizeof ev, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int serve(const struct refusals_options *o)
{
	static struct tally t;
	struct pollfd fds[] = { { .fd = FD_WARDEN, .events = POLLIN }, { .fd = FD_AUDIT, .events = POLLIN } };

	tally_init(&t, o->uids, o->n_uids);
	for (;;) {
		int n = poll(fds, ARRAY_LEN(fds), tally_wait_ms(&t, clock_mono_ms()));

		if (n < 0 && errno != EINTR)
			return 1;
		if (n > 0 && fds[0].revents) /* the warden sends nothing: it has exited */
			return 0;
		if (n > 0 && fds[1].revents)
			read_some(&t);
		tell(&t);
	}
}

int main(void)
{
	static struct refusals_options opt;
	struct err e = ERR_INIT;

	log_setup("atoll-refusals", LOG_LVL_INFO);
	if (options_take(OPTIONS_REFUSALS, &opt, sizeof opt, &e) < 0 || fd_cloexec(FD_WARDEN, true) < 0 ||
	    fd_cloexec(FD_AUDIT, true) < 0) {
		(void)fprintf(stderr, "atoll-refusals: %s (it is started by atolld)\n",
		    e.no ? e.text : "the warden's fds are missing");
		return 2;
	}
	log_set_level(opt.log_level);
	if (refusals_confine(&e) < 0) {
		log_error("could not start", "err=%s", e.text);
		return 1;
	}
	_Static_assert(TALLY_RANGES == REFUSALS_RANGES_MAX, "all fit");
	return serve(&opt);
}
