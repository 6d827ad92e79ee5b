/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/dial: asks the warden for a socket, waits until it is connected, tries the other address family. */
#include "front/link/dial.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/str.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/util/mem.h"
#include "loop/loop.h"

#define CONNECT_MS 5000 /* a full listen queue stays full if the server hangs */

struct dial {
	struct links *links;
	struct msg_dial msg;
	struct warden_call *asking;
	struct watch *watch; /* watches fd */
	struct timer *limit;
	int fd; /* connecting */
	dial_fn *fn;
	void *user;
};

static void ask(struct dial *d, enum dial_family family);

void dial_free(struct dial *d)
{
	if (!d)
		return;
	warden_cancel(d->asking);
	watch_free(d->watch);
	timer_free(d->limit);
	fd_close(d->fd);
	free(d);
}

static void finish(struct dial *d, int no, const char *text)
{
	struct dial_result re = { .no = no, .text = text, .fd = no ? -1 : take_fd(&d->fd) };
	dial_fn *fn = d->fn;
	void *user = d->user;

	dial_free(d);
	fn(user, &re);
}

/* Whether the error concerns that address only, not the sandbox or the server. */
static bool is_of_address(int no)
{
	return no == ECONNREFUSED || no == ECONNRESET || no == ETIMEDOUT || no == EADDRNOTAVAIL || no == ENETUNREACH ||
	    no == EHOSTUNREACH || no == EAFNOSUPPORT || no == EACCES || no == EPERM;
}

static void failed(struct dial *d, int no, const char *text)
{
	watch_free(take_ptr(&d->watch));
	fd_close(take_fd(&d->fd));
	if (!is_of_address(no))
		finish(d, no, text);
	else if (d->msg.family == DIAL_V4)
		ask(d, DIAL_V6);
	else
		finish(d, ECONNREFUSED, text);
}

static void on_ready(void *user, int events)
{
	struct dial *d = user;
	int no = 0;
	socklen_t len = sizeof no;

	(void)events;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &no, &len) < 0)
		no = errno;
	if (no) {
		failed(d, no, "connecting");
		return;
	}
	watch_free(take_ptr(&d->watch));
	finish(d, 0, NULL);
}

/* If the warden has not answered, nothing is known about the port: EHOSTDOWN. Otherwise the port does not answer. */
static void on_limit(void *user)
{
	struct dial *d = user;

	finish(d, d->asking ? EHOSTDOWN : ECONNREFUSED, "no answer");
}

static void on_asked(void *user, const struct warden_reply *re)
{
	struct dial *d = user;

	d->asking = NULL;
	if (re->no) {
		failed(d, re->no, re->text);
		return;
	}
	d->fd = re->fd;
	d->watch = d->fd < 0 ? NULL : watch_new(d->links->loop, d->fd, WATCH_OUT, on_ready, d);
	if (!d->watch)
		finish(d, ENOMEM, "no socket, or no memory for it");
}

static void ask(struct dial *d, enum dial_family family)
{
	d->msg.family = (uint8_t)family;
	d->asking = warden_ask(d->links->warden, OP_DIAL, &d->msg, sizeof d->msg, on_asked, d);
}

struct dial *dial_new(struct links *l, const char *id, uint16_t port, const char *request, dial_fn *fn, void *user)
{
	struct dial *d = must_alloc(sizeof *d);

	*d = (struct dial) { .links = l, .msg.port = port, .fd = -1, .fn = fn, .user = user };
	(void)str_copy(d->msg.id, sizeof d->msg.id, str_of(id));
	(void)str_copy(d->msg.request, sizeof d->msg.request, str_of(request));
	d->limit = timer_new(l->loop, on_limit, d);
	if (!d->limit)
		abort(); /* out of memory, as in must_alloc() */
	timer_arm(d->limit, CONNECT_MS);
	ask(d, DIAL_V4);
	return d;
}
