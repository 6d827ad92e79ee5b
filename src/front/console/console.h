/* SPDX-License-Identifier: Apache-2.0 */
/* front/console: the web console: its files, its sessions and its log-in codes. */
#pragma once

#include "base/err.h"

struct accounts;
struct console_files;
struct links;
struct oidc_link;
struct login_codes;
struct sessions;
struct store;

struct console {
	struct links *link;
	struct accounts *account;
	struct store *store;         /* of the sessions, in a separate file */
	struct sessions *sessions;   /* NULL: there is no console (console = false) */
	struct console_files *files; /* NULL: none were found */
	struct login_codes *codes;
	struct oidc_link *oidc; /* NULL: users log in with keys only */
};

/* Opens the store, and reads the files from dir_fd, which it closes; -1: there are none. The keyring must be open. */
int console_open(struct console *c, int dir_fd, struct err *e);
void console_tick(struct console *c); /* every few seconds */
void console_close(struct console *c);
