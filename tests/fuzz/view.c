/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: requests of the kernel for the files of atoll-view. Names, offsets and sizes in them are a tenant's.
 * Each request is two bytes of length, then the request. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/cgroup/cgroup.h"
#include "fuzz.h"

#define cgroup_detail(tree, id, ret) no_detail(tree, id, ret)
static int no_detail(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret)
{
	(void)t;
	(void)id;
	*ret = (struct cgroup_detail) { .cpu_user_ns = 1 };
	return 0;
}
#include "../../src/engine/view/serve.c"

#define ROWS 3

static struct server fresh(struct view *v, int device)
{
	struct server s = { .v = v, .device = device, .past = calloc(v->n_rows, sizeof *s.past) };

	s.held = calloc(HELD_MAX, sizeof *s.held);
	MUST(s.past && s.held);
	for (size_t i = 0; i < SHOTS; i++)
		s.shots[i].text = BUF_INIT(TEXT_MAX);
	return s;
}

/* As the kernel would read them: whole, and as long as they say. */
static void take_answers(int fd)
{
	static char buf[ANSWER_MAX + 4096];
	const struct fuse_out_header *h = (const struct fuse_out_header *)buf;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof buf, MSG_DONTWAIT)) > 0) {
		MUST((size_t)n >= sizeof *h && h->len == (size_t)n);
		MUST(h->error <= 0 && h->error > -4096);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct view_row rows[ROWS + 1] = { { .id = "one", .cpu_permille = 1500, .mem_bytes = 1 << 30 },
		{ .id = "../two" } };
	struct view v = VIEW_NONE;
	int pair[2];

	v.rows = rows;
	v.n_rows = ROWS;
	v.cpuinfo = "processor\t: 0\n\n";
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	struct server s = fresh(&v, pair[0]);

	while (n > 2) {
		size_t len = (size_t)data[0] | (size_t)data[1] << 8;

		data += 2;
		n -= 2;
		len = len < n ? len : n;
		if (len >= sizeof(struct fuse_in_header) && send(pair[1], data, len, 0) == (ssize_t)len)
			MUST(take_request(&s, 1) >= 0); /* always the same window: what is beyond a share is held */
		take_answers(pair[1]);
		data += len;
		n -= len;
	}
	serve_held(&s);
	take_answers(pair[1]);
	for (size_t i = 0; i < SHOTS; i++)
		buf_done(&s.shots[i].text);
	free(s.past);
	free(s.held);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
