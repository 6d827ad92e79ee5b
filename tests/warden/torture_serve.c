/* SPDX-License-Identifier: Apache-2.0 */
/* After all steps the warden serves: the front under torture starts, keeps and ends sandboxes, and makes volumes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/engine.h"
#include "torture.h"

#define FAKE_SENT 4711 /* by fake_engine.c */

/* Waits for the answer to a request, and checks it. Events in between are handed back by type. */
static void expect(int want, int no, const char *what)
{
	char msg[MSG_MAX];
	int fd, type;

	do {
		type = in(msg, &fd);
		fd_close(fd);
	} while (type == RE_LIST_ITEM);
	if (type != want || (want == RE_ERROR && ((struct msg_error *)msg)->no != no))
		wrong(what);
}

/* What it has sent counts to its end, also where the counters are gone by then. */
static void expect_exit(const char *what)
{
	char msg[MSG_MAX];
	int fd, type = in(msg, &fd);

	fd_close(fd);
	if (type != EV_EXITED || (getenv("ATOLL_TORTURE_FAKE") && ((struct msg_exited *)msg)->sent_bytes != FAKE_SENT))
		wrong(what);
}

static void ask(unsigned type, const char *id, int want, int no, const char *what)
{
	struct msg_id m = about(type, id);

	out(&m, sizeof m, 0);
	expect(want, no, what);
}

static void start(const char *id, int want, int no)
{
	struct msg_start m = sound_start(id);

	out(&m, sizeof m, 0);
	expect(want, no, id);
}

static unsigned count(void)
{
	struct msg_list m = { head(OP_LIST) };
	char msg[MSG_MAX];
	unsigned n = 0;
	int fd, type;

	out(&m, sizeof m, 0);
	while ((type = in(msg, &fd)) == RE_LIST_ITEM)
		n++;
	if (type != RE_OK)
		wrong("list");
	return n;
}

static void connects(const char *id)
{
	struct msg_id m = about(OP_CONNECT, id);
	char msg[MSG_MAX];
	int fd;

	out(&m, sizeof m, 0);
	if (in(msg, &fd) != RE_OK || fd < 0)
		wrong("connect gives an fd");
	fd_close(fd);
}

/* Whether somebody listens there is not for the warden to wait for. */
static void dials(const char *id, bool known)
{
	static const uint8_t families[] = { DIAL_V4, DIAL_V6 };
	char msg[MSG_MAX];
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		struct msg_dial m = { .head = head(OP_DIAL), .port = 65535, .family = families[i] };

		memcpy(m.id, id, strlen(id));
		out(&m, sizeof m, 0);
		if (!known) {
			expect(RE_ERROR, ENOENT, "dial of an unknown id");
			continue;
		}
		if (in(msg, &fd) != RE_OK || fd < 0)
			wrong("dial gives an fd");
		fd_close(fd);
	}
}

static uint32_t keep(enum msg_type op, const char *id, const char *name)
{
	struct msg_keep m = { .head = head(op) };

	(void)snprintf(m.id, sizeof m.id, "%s", id);
	(void)snprintf(m.name, sizeof m.name, "%s", name);
	out(&m, sizeof m, 0);
	return m.head.seq;
}

/* What answers come in which order, by seq. */
static void expect_seq(uint32_t seq, int type, int no, const char *what)
{
	_Alignas(8) char msg[MSG_MAX];
	int fd, got = in(msg, &fd);
	const struct msg_error *m = (const struct msg_error *)msg;

	if (got != type || m->head.seq != seq || (got == RE_ERROR && m->no != no))
		wrong(what);
}

/* An error and an answer, in whichever order: on a busy host the second may be ready before the first was asked for. */
static void expect_two(uint32_t seq, int type, int no, uint32_t other, int other_type, const char *what)
{
	_Alignas(8) char msg[MSG_MAX];
	const struct msg_error *m = (const struct msg_error *)msg;
	bool seen = false, other_seen = false;
	int fd;

	for (int i = 0; i < 2; i++) {
		int got = in(msg, &fd);

		seen = seen || (got == type && m->head.seq == seq && m->no == no);
		other_seen = other_seen || (got == other_type && m->head.seq == other);
	}
	if (!seen || !other_seen)
		wrong(what);
}

static void keeps(void)
{
	struct msg_list list = { head(OP_KEPT) };
	struct msg_name name = { .head = head(OP_FORGET), .name = "kone" };

	(void)keep(OP_SNAPSHOT, "inobody", "kone");
	expect(RE_ERROR, ENOENT, "snapshot of an unknown id");
	(void)keep(OP_SNAPSHOT, "ione", "kone");
	expect(RE_ERROR, EBUSY, "snapshot of what is not frozen");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze");
	(void)keep(OP_SNAPSHOT, "ione", "kone");
	expect(RE_OK, 0, "snapshot");
	(void)keep(OP_SNAPSHOT, "ione", "kfull");
	expect(RE_ERROR, ENOSPC, "snapshot on a full disk");
	(void)keep(OP_CHECKPOINT, "ione", "kcrash");
	expect(RE_ERROR, EIO, "a keeper that died");
	/* While its memory is read it stays frozen, and only one may do that; then it is thawed, and the image comes to
	 * nothing. */
	uint32_t first = keep(OP_CHECKPOINT, "ione", "kone"), second = keep(OP_CHECKPOINT, "ione", "ktwo");

	expect_seq(second, RE_ERROR, EBUSY, "two checkpoints at once");
	struct msg_id thaw = about(OP_THAW, "ione");

	out(&thaw, sizeof thaw, 0);
	ask(OP_USAGE, "inobody", RE_ERROR, ENOENT, "usage of an unknown id, after the thaw");
	note("go");
	expect_seq(first, RE_ERROR, ECANCELED, "a checkpoint of what was thawed");
	expect_seq(thaw.head.seq, RE_OK, 0, "thaw after the dump");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze again");
	(void)keep(OP_CHECKPOINT, "ione", "kone");
	expect(RE_IMAGE, 0, "checkpoint");
	ask(OP_THAW, "ione", RE_OK, 0, "thaw");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze once more");
	struct msg_keep brief = { .head = head(OP_CHECKPOINT),
		.id = "ione",
		.name = "kone",
		.flags = KEEP_THAW | KEEP_BRIEF };

	out(&brief, sizeof brief, 0);
	expect_seq(brief.head.seq, RE_RELEASED, 0, "it runs again");
	expect_two(keep(OP_SNAPSHOT, "ione", "ktwo"), RE_ERROR, EBUSY, brief.head.seq, RE_IMAGE,
	    "it is not frozen any more, and is kept");
	out(&list, sizeof list, 0);
	expect(RE_KEPT_ITEM, 0, "the first kept");
	expect(RE_KEPT_ITEM, 0, "the second kept");
	expect(RE_OK, 0, "the end of what is kept");
	out(&name, sizeof name, 0);
	expect(RE_OK, 0, "forget");
}

/* It runs again, and its memory is still being written when this front ends: */
static void leave_keeper(void)
{
	struct msg_keep m = { .id = "ione", .name = "kslow", .flags = KEEP_THAW };

	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze before the end of the front");
	m.head = head(OP_CHECKPOINT);
	out(&m, sizeof m, 0);
	expect_seq(m.head.seq, RE_RELEASED, 0, "it runs again before the end of the front");
	start("isync", RE_OK, 0); /* this one stays paused */
	ask(OP_FREEZE, "isync", RE_OK, 0, "pause before the end of the front");
	(void)keep(OP_CHECKPOINT, "isync", "ksync");
	ask(OP_USAGE, "inobody", RE_ERROR, ENOENT, "usage of an unknown id, after the checkpoint has begun");
}

/* Its memory is still being written: the next front, which asks for the same again, gets the answer. */
static void takes_over(void)
{
	uint32_t seq = keep(OP_CHECKPOINT, "isync", "ksync");

	ask(OP_USAGE, "inobody", RE_ERROR, ENOENT, "usage of an unknown id, after the checkpoint");
	note("taken over");
	expect_seq(seq, RE_IMAGE, 0, "a checkpoint of the last front");
	ask(OP_KILL, "isync", RE_OK, 0, "kill");
	expect_exit("exit of isync is told");
}

/* the next front does not notice. */
static void keeps_meanwhile(void)
{
	struct msg_name name = { .name = "kslow" };

	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze by the next front");
	(void)keep(OP_CHECKPOINT, "ione", "kslow");
	expect(RE_ERROR, EBUSY, "a checkpoint of a name that is being written in another way");
	name.head = head(OP_FORGET);
	out(&name, sizeof name, 0);
	expect(RE_ERROR, EAGAIN, "forget what is being written");
	(void)keep(OP_SNAPSHOT, "ione", "kthree");
	expect(RE_OK, 0, "snapshot while a checkpoint of the last front is written");
	(void)keep(OP_CHECKPOINT, "ione", "kthree");
	expect(RE_IMAGE, 0, "checkpoint while a checkpoint of the last front is written");
	note("kept meanwhile");
	ask(OP_THAW, "ione", RE_OK, 0, "thaw by the next front");
}

static void volume(unsigned op, const char *name)
{
	struct msg_volume make = { .bytes = 4096 };
	struct msg_name other;

	memset(&other, 0, sizeof other);
	make.head = other.head = head(op);
	(void)snprintf(make.name, sizeof make.name, "%s", name);
	(void)snprintf(other.name, sizeof other.name, "%s", name);
	if (op == OP_VOLUME)
		out(&make, sizeof make, 0);
	else
		out(&other, sizeof other, 0);
}

/* A connection to whoever serves it, as soon as there is a place. */
static int volume_place(void)
{
	char msg[MSG_MAX];

	for (int i = 0; i < 1000; i++) {
		int fd = -1;

		volume(OP_VOLUME_CONNECT, "vone");
		int type = in(msg, &fd);

		if (type == RE_OK && fd >= 0)
			return fd;
		if (type != RE_ERROR || ((struct msg_error *)msg)->no != EBUSY)
			break;
		(void)usleep(20000);
	}
	wrong("there is no place to serve a volume");
}

/* Served one at a time per place; who lets go of a connection gives the place back. */
static void serve_volumes(void)
{
	int fds[ENGINE_VOLUME_PLACES];
	bool taken[ENGINE_VOLUME_PLACES] = { false };
	char c;

	for (size_t i = 0; i < ENGINE_VOLUME_PLACES; i++) {
		fds[i] = volume_place(); /* whoever could not serve may not have ended yet */
		if (read(fds[i], &c, 1) != 1 || c < 0 || c >= ENGINE_VOLUME_PLACES || taken[(int)c])
			wrong("a place to serve a volume");
		taken[(int)c] = true;
	}
	volume(OP_VOLUME_CONNECT, "vone");
	expect(RE_ERROR, EBUSY, "all places are taken");
	for (size_t i = 0; i < ENGINE_VOLUME_PLACES; i++)
		fd_close(fds[i]);
	fd_close(volume_place());
}

static void volumes(void)
{
	struct msg_list list = { head(OP_VOLUMES) };

	volume(OP_VOLUME, "vone");
	expect(RE_OK, 0, "make a volume");
	volume(OP_VOLUME, "vfull");
	expect(RE_ERROR, ENOSPC, "make a volume on a full disk");
	volume(OP_VOLUME, "vcrash");
	expect(RE_ERROR, EIO, "a child that died");
	volume(OP_VOLUME_CONNECT, "vnone");
	expect(RE_ERROR, ENOENT, "serve a volume that is not there");
	serve_volumes();
	out(&list, sizeof list, 0);
	expect(RE_VOLUME_ITEM, 0, "a volume");
	expect(RE_OK, 0, "the end of the volumes");
	volume(OP_VOLUME_DROP, "vbusy");
	expect(RE_ERROR, EAGAIN, "drop a volume later");
	volume(OP_VOLUME_DROP, "vone");
	expect(RE_OK, 0, "drop a volume");
}

static void limits(void)
{
	struct msg_limit m = { .head = head(OP_LIMIT), .id = "ione", .limits = welcome.defaults };

	out(&m, sizeof m, 0);
	expect(RE_OK, 0, "limit");
	if (!getenv("ATOLL_TORTURE_FAKE"))
		return;
	m.limits.pids = 13;
	out(&m, sizeof m, 0);
	expect(RE_ERROR, EBUSY, "a limit that the engine refuses");
}

/* After all that it serves: unknown ids are only errors, limits hold, a sandbox runs and survives this front. */
__attribute__((noreturn)) void serve_first(void)
{
	static const unsigned types[] = { OP_KILL, OP_FREEZE, OP_THAW, OP_CONNECT, OP_USAGE };

	hello();
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		ask(types[i], "inobody", RE_ERROR, ENOENT, "unknown id");
	dials("inobody", false);
	if (count() != 0)
		wrong("nothing runs yet");
	start("ione", RE_OK, 0);
	start("ione", RE_ERROR, EEXIST);
	start("itwo", RE_OK, 0);
	start("ithree", RE_ERROR, EMFILE);
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze");
	ask(OP_FREEZE, "ione", RE_OK, 0, "freeze again");
	ask(OP_THAW, "ione", RE_OK, 0, "thaw");
	ask(OP_USAGE, "ione", RE_USAGE, 0, "usage");
	limits();
	connects("ione");
	dials("ione", true);
	ask(OP_KILL, "itwo", RE_OK, 0, "kill");
	expect_exit("exit of itwo is told");
	if (getenv("ATOLL_TORTURE_FAKE")) {
		keeps();
		volumes();
		start("fail1", RE_ERROR, ENOSPC);
		start("crash1", RE_ERROR, EIO);
		start("half1", RE_ERROR, EIO);
		leave_keeper();
	}
	note("serve 2");
	_exit(0);
}

__attribute__((noreturn)) void serve_again(void)
{
	hello();
	bool fake = getenv("ATOLL_TORTURE_FAKE");

	if (count() != (fake ? 2 : 1))
		wrong("the sandboxes survived the front");
	connects("ione");
	if (fake) {
		takes_over();
		keeps_meanwhile();
	}
	ask(OP_KILL, "ione", RE_OK, 0, "kill");
	expect_exit("exit of ione is told");
	if (count() != 0)
		wrong("it is gone");
	start("ifour", RE_OK, 0);
	note("done");
	char msg[MSG_MAX];
	int fd, type;

	while ((type = in(msg, &fd)) == 0)
		;
	note(type == EV_SHUTDOWN ? "shutdown" : "WRONG no shutdown");
	_exit(0);
}
