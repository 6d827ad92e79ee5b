/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/login: log-ins under way.
 *
 * What the provider says about itself and its keys is asked for when it is needed, and kept for some time. Each is
 * asked for by one request at a time, for all log-ins that wait for it, and after a failure not again at once: nobody
 * who is not logged in can make the provider busy. A token that names an unknown key makes the keys be fetched again,
 * also not more often than every few seconds. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "ipc/oidc.h"

struct fetcher;
struct logins;
struct oidc_options;

typedef void login_fn(void *user, const struct oi_done *done);

/* o, secret, f: must outlive it. fn is called once for each ask, perhaps from within login_ask(). */
int logins_new(const struct oidc_options *o, struct str secret, struct fetcher *f, login_fn *fn, void *user,
    struct logins **ret);
void logins_free(struct logins *l); /* NULL is fine */
void login_ask(struct logins *l, const struct oi_ask *ask);
void logins_drop_all(struct logins *l); /* without calling fn */
