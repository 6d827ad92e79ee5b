/* SPDX-License-Identifier: Apache-2.0 */
/* front/console: opens and closes what it consists of. */
#include "front/console/console.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/console/codes.h"
#include "front/console/files.h"
#include "front/console/oidc.h"
#include "front/console/sessions.h"
#include "front/link/links.h"
#include "front/util/token.h"
#include "store/db.h"
#include "store/sessions.h"

/* The settings on which the roles of users depend. */
static void basis_of(const struct front_options *o, char ret[2 * SHA256_SIZE + 1])
{
	autobuf struct buf all = BUF_INIT(8192);
	uint8_t hash[SHA256_SIZE];

	buf_fmt(&all, "%s\n%s\n%s\n%s\n%s\n%d", o->oidc_issuer, o->oidc_client_id, o->oidc_roles, o->oidc_user_claim,
	    o->oidc_groups_claim, o->oidc_unverified_email);
	sha256(buf_view(&all), hash);
	for (size_t i = 0; i < SHA256_SIZE; i++)
		(void)sprintf(ret + 2 * i, "%02x", hash[i]);
}

/* Without its files the console can still be logged in to by programs. */
static void read_files(struct console *c, int dir_fd)
{
	struct err e;

	if (dir_fd < 0)
		log_info("the console has no files", "setting=console_dir");
	else if (console_files_read(dir_fd, &c->files, &e) < 0)
		log_warn("cannot read the files of the console", "err=%s", e.text);
	else
		log_info("console", "files=%zu kb=%zu", console_files_count(c->files),
		    console_files_bytes(c->files) / 1024);
}

int console_open(struct console *c, int dir_fd, struct err *e)
{
	const struct front_options *o = &c->link->opt;
	autoclose int dir = dir_fd;
	autofree char *path = str_fmt("%s/console.db", o->state_dir);
	char basis[2 * SHA256_SIZE + 1] = "";

	if (!o->console)
		return 0;
	if (!path)
		return err_set(e, ENOMEM, "name the file of the console's sessions");
	if (o->oidc_issuer[0])
		basis_of(o, basis);
	if (sessions_store_open(path, &c->store, e) < 0 ||
	    console_sessions_new(c->store, o->console_idle_s * 1000ull, o->console_session_s * 1000ull, basis,
		&c->sessions, e) < 0)
		return -e->no;
	c->codes = login_codes_new();
	if (o->oidc_issuer[0])
		c->oidc = oidc_link_new(c->link);
	read_files(c, dir);
	return 0;
}

void console_tick(struct console *c)
{
	if (c->sessions)
		console_sessions_tidy(c->sessions, c->account->keyring, clock_wall_ms());
	if (c->oidc)
		oidc_link_tick(c->oidc);
}

void console_close(struct console *c)
{
	if (c->sessions && c->account->keyring)
		console_tick(c);
	console_sessions_free(take_ptr(&c->sessions));
	console_files_free(take_ptr(&c->files));
	login_codes_free(take_ptr(&c->codes));
	store_close(take_ptr(&c->store));
}
