/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/rules: tells atoll-egress what to put into the requests of sandboxes, over a socket that the warden
 * made for the two (ipc/rules.h).
 *
 * A new atoll-egress, and a new front, make the warden send a new socket; then everything is told again. */
#pragma once

#include <stdbool.h>

struct front;
struct rules_link;
struct sandbox;
struct spec;

struct rules_link *rules_link_new(struct front *f);
void rules_link_free(struct rules_link *l);        /* NULL is fine */
void rules_link_set(struct rules_link *l, int fd); /* owned; in place of any other */

bool spec_has_rules(const struct spec *sp); /* there is something to tell */

/* no 0, or an errno value; pem: the certificate of the sandbox's own authority, "" if it has none. Never from
 * inside. */
typedef void rules_fn(void *user, int no, const char *pem);

/* Tells of the rules of a sandbox as they are now. fn may be NULL; the sandbox may be gone when it is called. */
void rules_push(struct sandbox *sb, rules_fn *fn, void *user);
void rules_push_all(struct front *f);                  /* all that have some */
void rules_refresh(struct front *f, const char *team); /* a secret of the team is another one */
