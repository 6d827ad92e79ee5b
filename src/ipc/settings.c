/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/settings: what atolld passes to its programs at their start. */
#include "ipc/settings.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "ipc/check.h"

/* A word in the column `to` that no pair in ipc/settings_of.tbl names would reach no program. */
#define IS_FOR(of, to) (0 SETTING_GOES(of, to)(+1))
#define CHECK_TO(to) \
	_Static_assert(IS_FOR(warden, to) + IS_FOR(front, to) + IS_FOR(egress, to) + IS_FOR(agent, to) + \
		    IS_FOR(webhooks, to) + IS_FOR(oidc, to) + IS_FOR(refusals, to) + IS_FOR(pull, to) > \
		0, \
	    "no program gets this setting");
#define TEXT(name, size, form, default_, to, ...) CHECK_TO(to)
#define PATH(name, default_, to, ...) CHECK_TO(to)
#define NUMBER(name, min, max, default_, to, ...) \
	CHECK_TO(to) _Static_assert(IS_FOR(warden, to) || (max) <= UINT32_MAX, "programs have numbers of 32 bits");
#define FLAG(name, default_, to, ...) CHECK_TO(to)
#define WORD(name, type, words, default_, to, ...) \
	CHECK_TO(to) _Static_assert(sizeof(enum type) == sizeof(unsigned), "a word is stored as an unsigned");
#define RANGES(name, to, ...) CHECK_TO(to)
#define LIST(name, form, to, ...) _Static_assert(IS_FOR(warden, to), "no member holds a list");
#include "ipc/settings.tbl"

enum form { MEMBER_OTHER, MEMBER_TEXT, MEMBER_NUMBER, MEMBER_FLAG, MEMBER_WORD, MEMBER_RANGES };

struct member {
	const char *name, *words;
	enum form form;
	size_t at, size;
};

#define OPTIONS(of) struct of##_options
#define MEMBER(of, form, name, words) \
	{ #name, words, MEMBER_##form, offsetof(OPTIONS(of), name), sizeof(((OPTIONS(of) *)0)->name) },
#define SETTING(of, form, name, words, ...) MEMBER(of, form, name, words)

static const struct member front_members[] = {
	/* clang-format off */
	MEMBER(front, TEXT, state_dir, "")
	MEMBER(front, TEXT, key_file, "")
	MEMBER(front, TEXT, domain, "")
	MEMBER(front, TEXT, url, "")
	MEMBER(front, OTHER, n_doors, "")
	MEMBER(front, OTHER, doors, "")
	MEMBER(front, FLAG, has_console, "")
	MEMBER(front, FLAG, domain_is_default, "")
/* clang-format on */
#define OF front
#include "ipc/settings_of.tbl"
};

static const struct member egress_members[] = {
	/* clang-format off */
	MEMBER(egress, TEXT, names_domain, "")
	MEMBER(egress, NUMBER, names_ip, "")
/* clang-format on */
#define OF egress
#include "ipc/settings_of.tbl"
};

static const struct member agent_members[] = { MEMBER(agent, TEXT, state_dir, "")
#define OF agent
#include "ipc/settings_of.tbl"
};

static const struct member webhooks_members[] = {
#define OF webhooks
#include "ipc/settings_of.tbl"
};

static const struct member oidc_members[] = { MEMBER(oidc, FLAG, oidc_has_secret, "")
#define OF oidc
#include "ipc/settings_of.tbl"
};

static const struct member refusals_members[] = {
	/* clang-format off */
	MEMBER(refusals, NUMBER, n_uids, "")
	MEMBER(refusals, OTHER, uids, "")
/* clang-format on */
#define OF refusals
#include "ipc/settings_of.tbl"
};

static const struct member pull_members[] = {
#define OF pull
#include "ipc/settings_of.tbl"
};

static const struct {
	const struct member *members;
	size_t n, size;
} programs[OPTIONS_COUNT] = {
	[OPTIONS_FRONT] = { front_members, ARRAY_LEN(front_members), sizeof(struct front_options) },
	[OPTIONS_EGRESS] = { egress_members, ARRAY_LEN(egress_members), sizeof(struct egress_options) },
	[OPTIONS_AGENT] = { agent_members, ARRAY_LEN(agent_members), sizeof(struct agent_options) },
	[OPTIONS_WEBHOOKS] = { webhooks_members, ARRAY_LEN(webhooks_members), sizeof(struct webhooks_options) },
	[OPTIONS_OIDC] = { oidc_members, ARRAY_LEN(oidc_members), sizeof(struct oidc_options) },
	[OPTIONS_REFUSALS] = { refusals_members, ARRAY_LEN(refusals_members), sizeof(struct refusals_options) },
	[OPTIONS_PULL] = { pull_members, ARRAY_LEN(pull_members), sizeof(struct pull_options) },
};

/* FNV-1a */
static void mix(uint64_t *h, const void *p, size_t n)
{
	const unsigned char *bytes = p;

	for (size_t i = 0; i < n; i++)
		*h = (*h ^ bytes[i]) * 0x100000001b3;
}

uint64_t options_layout(enum options_of of)
{
	uint64_t h = 0xcbf29ce484222325;

	mix(&h, &of, sizeof of); /* two programs may have the same members */
	for (size_t i = 0; i < programs[of].n; i++) {
		const struct member *m = &programs[of].members[i];

		mix(&h, m->name, strlen(m->name) + 1);
		mix(&h, m->words, strlen(m->words) + 1);
		mix(&h, &m->at, sizeof m->at);
		mix(&h, &m->size, sizeof m->size);
	}
	return h;
}

int options_seal(const char *name, const void *options, size_t size, int *ret_fd, struct err *e)
{
	autoclose int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fd_write_all(fd, options, size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return err_sys(e, "write the settings of %s", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

static bool word_ok(const char *words, const void *p)
{
	unsigned n = 1, value;

	memcpy(&value, p, sizeof value);
	for (; *words; words++)
		n += *words == ' ';
	return value < n;
}

static bool ranges_ok(const struct inet_ranges *r)
{
	for (uint32_t i = 0; i < r->n && i < INET_RANGES_MAX; i++) {
		if (r->v[i].len > 32)
			return false;
	}
	return r->n <= INET_RANGES_MAX;
}

static bool member_ok(const struct member *m, const char *p)
{
	switch (m->form) {
	case MEMBER_TEXT:
		return check_text(p, m->size);
	case MEMBER_FLAG:
		return *(const unsigned char *)p <= 1;
	case MEMBER_WORD:
		return word_ok(m->words, p);
	case MEMBER_RANGES:
		return ranges_ok((const void *)p);
	case MEMBER_NUMBER:
	case MEMBER_OTHER:
		break;
	}
	return true;
}

static bool doors_ok(const struct front_options *o)
{
	for (uint32_t i = 0; i < o->n_doors && i < DOORS_MAX; i++) {
		if ((unsigned)o->doors[i] >= DOOR_KINDS)
			return false;
	}
	return o->n_doors > 0 && o->n_doors <= DOORS_MAX;
}

int options_read(int fd, enum options_of of, void *ret, size_t size, struct err *e)
{
	struct stat st;
	uint64_t layout = 0;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "find the settings");
	if (size != programs[of].size || (size_t)st.st_size != size || pread(fd, ret, size, 0) != (ssize_t)size)
		return err_set(e, EPROTO, "the settings are of another build of atoll than this program");
	memcpy(&layout, ret, sizeof layout); /* the first member of each */
	if (layout != options_layout(of))
		return err_set(e, EPROTO, "the settings are of another build of atoll than this program");
	for (size_t i = 0; i < programs[of].n; i++) {
		const struct member *m = &programs[of].members[i];

		if (!member_ok(m, (const char *)ret + m->at))
			return err_set(e, EINVAL, "the settings are malformed: %s", m->name);
	}
	if (of == OPTIONS_FRONT && !doors_ok(ret))
		return err_set(e, EINVAL, "the settings are malformed: doors");
	return 0;
}

int options_take(enum options_of of, void *ret, size_t size, struct err *e)
{
	if (options_read(OPTIONS_FD, of, ret, size, e) < 0)
		return -e->no;
	fd_close(OPTIONS_FD);
	return 0;
}
