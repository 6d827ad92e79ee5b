/* SPDX-License-Identifier: Apache-2.0 */
/* atoll audit verify: checks that the audit trail is complete and unaltered. Reads the files; no server is needed. */
#include "cli/admin/audit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/key.h"
#include "audit/verify.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/paths.h"
#include "cli/settings.h"
#include "store/audit.h"
#include "store/db.h"

#define PIECE (1024 * 1024)
#define TORN_TRIES 20 /* a running server may be writing the last line */
#define TORN_WAIT_US 10000

struct job {
	const char *state, *key_file, *expect;
	bool whole;
	struct audit_verify v;
	struct audit_point known;
	bool has_key;
};

/* Verifies the complete lines in b. An incomplete last line stays in b. */
static int take_lines(struct job *j, struct buf *b, const char *file, uint64_t *line_no, struct err *e)
{
	size_t used = 0;
	const char *nl;

	while ((nl = memchr(b->p + used, '\n', b->n - used))) {
		struct str line = { b->p + used, (size_t)(nl - b->p) - used };

		if (audit_verify_line(&j->v, line, file, ++*line_no, e) < 0)
			return -e->no;
		used = (size_t)(nl - b->p) + 1;
	}
	buf_consume(b, used);
	return 0;
}

static int verify_file(struct job *j, const char *path, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	autobuf struct buf b = BUF_INIT(PIECE + 2 * AUDIT_LINE_MAX);
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	uint64_t line_no = 0;
	unsigned tries = 0;

	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	for (;;) {
		char *p = buf_room(&b, PIECE);
		ssize_t n = p ? read(fd, p, PIECE) : 0;

		if (!p)
			return err_set(e, ENOMEM, "read '%s': out of memory", path);
		if (n < 0)
			return err_sys(e, "read '%s'", path);
		if (n == 0 && (b.n == 0 || ++tries > TORN_TRIES))
			break;
		if (n == 0)
			(void)usleep(TORN_WAIT_US);
		b.n += (size_t)n;
		if (take_lines(j, &b, name, &line_no, e) < 0)
			return -e->no;
		if (b.n > AUDIT_LINE_MAX)
			return err_set(e, EBADMSG, "record %llu (%s, line %llu) is damaged: the line is incomplete",
			    (unsigned long long)j->v.at.seq + 1, name, (unsigned long long)line_no + 1);
	}
	return b.n ? audit_verify_torn(&j->v, b.n, name, e) : 0;
}

static int is_segment(const struct dirent *d)
{
	return str_ends(str_of(d->d_name), ".jsonl");
}

static int verify_dir(struct job *j, struct err *e)
{
	autofree char *dir = str_fmt("%s/audit", j->state);
	struct dirent **names = NULL;
	int n = dir ? scandir(dir, &names, is_segment, alphasort) : -1;

	if (n < 0)
		return err_sys(e, "open '%s'", dir ? dir : j->state);
	for (int i = 0; i < n; i++) {
		autofree char *path = e->no ? NULL : str_fmt("%s/%s", dir, names[i]->d_name);

		if (path)
			(void)verify_file(j, path, e);
		/* Retention deleted the file after scandir(). The records that remain show this. */
		if (e->no == ENOENT && j->v.first_seq == 0 && i + 1 < n)
			*e = ERR_INIT;
		free(names[i]);
	}
	free(names);
	if (!e->no && n == 0)
		return err_set(e, ENOENT, "'%s' contains no audit trail", dir);
	return -e->no;
}

/* Parses --expect, "SEQ:HASH": the head that an earlier verify printed. */
static int read_expected(struct job *j, struct err *e)
{
	struct str hash = str_of(j->expect), seq = str_cut(&hash, ':');

	if (!hash.p || str_to_u64(seq, UINT64_MAX - 1, &j->known.seq) < 0 ||
	    audit_unhex(hash, j->known.hash, sizeof j->known.hash) < 0)
		return err_set(e, EINVAL, "--expect '%s': expected NUMBER:HASH, as printed by an earlier verify",
		    j->expect);
	j->v.known = &j->known;
	return 0;
}

/* Reads the last record known to the database. This comes before the files, which may grow meanwhile. */
static int read_head(struct job *j, struct err *e)
{
	autofree char *path = str_fmt("%s/front/audit.db", j->state);
	struct store *s = NULL;

	if (!path)
		return err_set(e, ENOMEM, "out of memory");
	if (store_open_read(path, &s, e) < 0)
		return e->no == ENOENT ? (*e = ERR_INIT, 0) : -e->no;
	if (audit_db_head(s, &j->known, e) == 0 && j->known.seq)
		j->v.known = &j->known;
	store_close(s);
	return -e->no;
}

static int read_key(struct job *j, uint8_t key[AUDIT_KEY_SIZE], struct err *e)
{
	autofree char *dir = str_fmt("%s/front", j->state);
	int r = j->key_file ? audit_key_read_file(j->key_file, key, e)
	    : dir           ? audit_key_read(dir, false, key, e)
			    : -ENOMEM;

	j->has_key = r == 0;
	if (r < 0 && !j->key_file && e->no == ENOENT)
		*e = ERR_INIT;
	return -e->no;
}

static void print_result(const struct job *j, double seconds)
{
	char hex[AUDIT_HEX_SIZE];

	audit_hex(j->v.at.hash, sizeof j->v.at.hash, hex);
	(void)printf("ok: %llu records, %llu to %llu, in %.2f s\n", (unsigned long long)j->v.records,
	    (unsigned long long)j->v.first_seq, (unsigned long long)j->v.at.seq, seconds);
	(void)printf("head: %llu:%s\n", (unsigned long long)j->v.at.seq, hex);
	(void)printf("seals: %s\n",
	    j->has_key ? "all verified with the server's key" : "not checked, no key available");
	(void)printf("end: %s\n",
	    j->v.known ? "matches the recorded end, or is newer"
		       : "not checked, the expected number of records is unknown");
	if (j->v.first_seq > 1)
		(void)printf("beginning: earlier records were %s\n",
		    j->v.anchored ? "deleted by retention limits" : "not given");
	if (j->v.repairs)
		(void)printf("repairs: %llu lines truncated by a crash\n", (unsigned long long)j->v.repairs);
	if (j->v.gaps)
		(void)printf("gaps: %llu times the trail could not be written, %llu records are missing\n",
		    (unsigned long long)j->v.gaps, (unsigned long long)j->v.lost);
}

int audit_verify(const struct verb *v, int argc, char **argv)
{
	struct job j = { .state = STATE_DIR_DEFAULT };
	const struct opt opts[] = { { "state", 0, OPT_STR, &j.state }, { "key-file", 0, OPT_STR, &j.key_file },
		{ "expect", 0, OPT_STR, &j.expect } };
	uint8_t key[AUDIT_KEY_SIZE];
	struct err e = ERR_INIT;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_ANY, argc, argv, &n);

	if (rc >= 0)
		return rc;
	j.whole = n == 0;
	if ((j.whole || j.key_file) && read_key(&j, key, &e) < 0)
		return fail("%s", e.text);
	if ((j.expect ? read_expected(&j, &e) : j.whole ? read_head(&j, &e) : 0) < 0)
		return fail("%s", e.text);
	j.v.seal = audit_seal_new(j.has_key ? key : NULL);
	if (!j.v.seal)
		return fail("out of memory");

	uint64_t began = clock_mono_us();
	int r = j.whole ? verify_dir(&j, &e) : 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = verify_file(&j, argv[i], &e);
	if (r == 0)
		r = audit_verify_end(&j.v, j.whole, &e);
	audit_seal_free(j.v.seal);
	if (r < 0)
		return fail("%s%s", e.no == EBADMSG ? "the audit trail is damaged: " : "", e.text);
	print_result(&j, (double)(clock_mono_us() - began) / 1e6);
	return 0;
}
