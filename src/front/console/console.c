/* SPDX-License-Identifier: Apache-2.0 */
/* front/console: opens and closes what it consists of. */
#include "front/console/console.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/console/codes.h"
#include "front/console/files.h"
#include "front/console/sessions.h"
#include "front/link/links.h"
#include "store/db.h"
#include "store/sessions.h"

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

	if (!o->console)
		return 0;
	if (!path)
		return err_set(e, ENOMEM, "name the file of the console's sessions");
	if (sessions_store_open(path, &c->store, e) < 0 ||
	    console_sessions_new(c->store, o->console_idle_s * 1000ull, o->console_session_s * 1000ull, &c->sessions,
		e) < 0)
		return -e->no;
	c->codes = login_codes_new();
	read_files(c, dir);
	return 0;
}

void console_tick(struct console *c)
{
	if (c->sessions)
		console_sessions_tidy(c->sessions, c->account->keyring, clock_wall_ms());
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
