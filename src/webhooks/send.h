/* SPDX-License-Identifier: Apache-2.0 */
/* webhooks/send: deliveries in progress: one POST each, by libcurl, with tight restrictions.
 *
 * Redirects are not followed, and proxies and cookies are not used. The address is checked when the socket is
 * created, so a name that resolves to a different address each time cannot evade the check. Of the answer only
 * the status matters; up to BODY_MAX bytes of its body are read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "ipc/webhooks.h"

struct pollfd;
struct sender;
struct webhooks_options;

typedef void sender_fn(void *user, const struct hk_done *done);

/* o must outlive it */
int sender_new(const struct webhooks_options *o, sender_fn *fn, void *user, struct sender **ret, struct err *e);
/* -ENOMEM, -EBUSY: too many */
int sender_add(struct sender *s, const struct hk_job *m, struct str url, struct str body);
void sender_drop_all(struct sender *s); /* without calling fn */
/* waits for these fds or for progress of its own; then does what can be done */
int sender_wait(struct sender *s, const int fds[2], bool ret_ready[2]);
void sender_free(struct sender *s); /* NULL is allowed */
