/* SPDX-License-Identifier: Apache-2.0 */
/* hooks/send: deliveries under way: one POST each, by libcurl, on a short leash.
 *
 * Nothing is followed, no proxy is asked, no cookie kept. The address is looked at when the socket is made, so a name
 * that leads elsewhere at each question leads nowhere. Of the answer only the status counts; of its body a little is
 * read, for good manners. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "ipc/webhooks.h"

struct pollfd;
struct sender;

typedef void sender_fn(void *user, const struct hk_done *done);

struct sender_options {
	bool allow_private, allow_own; /* own: addresses of this host, too */
	const char *ca_file;           /* more authorities than the system's; "": none */
};

int sender_new(const struct sender_options *o, sender_fn *fn, void *user, struct sender **ret, struct err *e);
/* -ENOMEM, -EBUSY: too many */
int sender_add(struct sender *s, const struct hk_job *m, struct str url, struct str body);
void sender_drop_all(struct sender *s); /* nobody is told */
/* for them, or for progress of its own; then does what can be done */
int sender_wait(struct sender *s, const int fds[2], bool ret_ready[2]);
void sender_free(struct sender *s); /* NULL is fine */
