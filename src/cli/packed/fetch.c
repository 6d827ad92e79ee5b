/* SPDX-License-Identifier: Apache-2.0 */
/* atoll template fetch: gets templates that 'atoll template pack' has written, instead of building them.
 *
 * 1. The manifest and its signature arrive as bytes. The signature is verified before anything is parsed.
 * 2. The manifest must be that of the recipe which this atoll has, for this processor.
 * 3. Blocks that are not in CACHE/blocks are fetched, each verified by its hash, once for all templates. An
 *    interrupted fetch goes on there.
 * 4. The blocks are unpacked, and the templates appear by one rename each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/opts.h"
#include "cli/packed/manifest.h"
#include "cli/packed/packed.h"
#include "cli/packed/sign.h"
#include "cli/packed/source.h"
#include "cli/packed/unpack.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/template/template.h"

#define FETCH_MAX 16
#define SOURCE_FILE "/etc/atoll/template-source"
#define SPARE_BYTES (UINT64_C(64) << 20)

struct fetch {
	const char *from, *keys, *cache;
	struct template_asked asked[FETCH_MAX];
	struct packed packed[FETCH_MAX];
	size_t n;
	struct source *source;
	int blocks, lock;
	struct packed_block **missing; /* one entry per distinct block */
	size_t n_missing;
	uint64_t missing_bytes, got_bytes;
	struct buf text, signature; /* of the manifest that is read */
	struct progress progress;
};

/* --- manifests ---------------------------------------------------------------------------------------------------- */

static int keep_manifest(void *user, size_t i, const void *p, size_t n, struct err *e)
{
	struct fetch *f = user;
	struct buf *to = i == 0 ? &f->text : &f->signature;

	buf_put(to, p, n);
	return to->bad ? err_set(e, ENOMEM, "out of memory") : 0;
}

/* What was signed by a trusted key, but for another purpose. */
static int check_purpose(const struct packed *p, const struct template_asked *t, struct err *e)
{
	if (strcmp(p->name, t->name) != 0 || strcmp(p->key, t->key) != 0)
		return err_set(e, EPROTO, "the manifest is of '%s' %s, not of '%s' %s", p->name, p->key, t->name,
		    t->key);
	if (strcmp(p->arch, packed_arch()) != 0)
		return err_set(e, EPROTO, "the template is for %s, and this machine is %s", p->arch, packed_arch());
	return 0;
}

static int get_manifest(struct fetch *f, size_t at, struct err *e)
{
	const struct template_asked *t = &f->asked[at];
	struct source_want want[] = { { .max = PACKED_MANIFEST_MAX }, { .max = SIGNATURE_BYTES } };

	(void)snprintf(want[0].path, SOURCE_PATH_SIZE, "%s/%s.manifest", packed_arch(), t->key);
	(void)snprintf(want[1].path, SOURCE_PATH_SIZE, "%s/%s.manifest.sig", packed_arch(), t->key);
	buf_clear(&f->text);
	buf_clear(&f->signature);
	int r = source_get(f->source, want, ARRAY_LEN(want), keep_manifest, f, e);

	if (r == -ENOENT)
		return err_set(e, ENOENT,
		    "'%s' has no template '%s' of atoll %s for %s (%s); a machine with certificate authorities of its "
		    "own builds its templates",
		    f->from, t->name, ATOLL_VERSION, packed_arch(), t->key);
	if (r < 0 || sign_verify(f->keys, buf_view(&f->text), buf_view(&f->signature), e) < 0 ||
	    packed_parse(buf_view(&f->text), &f->packed[at], e) < 0 || check_purpose(&f->packed[at], t, e) < 0)
		return err_wrap(e, "template '%s'", t->name);
	return 0;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
	return strcmp((*(struct packed_block *const *)a)->hash, (*(struct packed_block *const *)b)->hash);
}

static bool is_there(const struct fetch *f, const struct packed_block *b)
{
	struct stat st;

	return fstatat(f->blocks, b->hash, &st, AT_SYMLINK_NOFOLLOW) == 0 && (uint64_t)st.st_size == b->stored;
}

/* Collects the blocks of all templates, each once, without those that are there. */
static int find_missing(struct fetch *f, struct err *e)
{
	size_t all = 0, n = 0, kept = 0;

	for (size_t i = 0; i < f->n; i++)
		all += f->packed[i].n_blocks;
	f->missing = calloc(all + 1, sizeof *f->missing);
	if (!f->missing)
		return err_set(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < f->n; i++) {
		for (size_t k = 0; k < f->packed[i].n_blocks; k++)
			f->missing[n++] = &f->packed[i].blocks[k];
	}
	qsort(f->missing, n, sizeof *f->missing, by_hash);
	for (size_t i = 0; i < n; i++) {
		bool again = kept > 0 && strcmp(f->missing[i]->hash, f->missing[kept - 1]->hash) == 0;

		if (again || is_there(f, f->missing[i]))
			continue;
		f->missing_bytes += f->missing[i]->stored;
		f->missing[kept++] = f->missing[i];
	}
	f->n_missing = kept;
	return 0;
}

static int check_space(const struct fetch *f, struct err *e)
{
	struct statvfs v;
	uint64_t need = f->missing_bytes + SPARE_BYTES;

	for (size_t i = 0; i < f->n; i++)
		need += f->packed[i].plain;
	if (fstatvfs(f->blocks, &v) < 0)
		return err_sys(e, "'%s'", f->cache);
	uint64_t has = (uint64_t)v.f_bavail * v.f_frsize;

	return has >= need ? 0
			   : err_set(e, ENOSPC, "no space: '%s' has %llu MB free, and the templates need %llu MB",
				 f->cache, (unsigned long long)(has >> 20), (unsigned long long)(need >> 20));
}

static int keep_block(void *user, size_t i, const void *p, size_t n, struct err *e)
{
	struct fetch *f = user;
	const struct packed_block *b = f->missing[i];
	char hash[PACKED_HASH_LEN + 1], tmp[PACKED_HASH_LEN + 8];

	packed_hash(p, n, hash);
	if (n != b->stored || strcmp(hash, b->hash) != 0)
		return err_set(e, EBADMSG, "block %s of '%s' is truncated or changed", b->hash, f->from);
	(void)snprintf(tmp, sizeof tmp, "%s.new", b->hash);
	autoclose int fd = openat(f->blocks, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : fd_write_all(fd, p, n);

	if (r < 0 || renameat(f->blocks, tmp, f->blocks, b->hash) < 0) {
		errno = r < 0 ? -r : errno;
		return err_sys(e, "write a block to '%s/blocks'", f->cache);
	}
	f->got_bytes += n;
	progress_amount(&f->progress, "fetching", "templates", f->got_bytes, f->missing_bytes);
	return 0;
}

static int get_blocks(struct fetch *f, struct err *e)
{
	autofree struct source_want *want = calloc(f->n_missing + 1, sizeof *want);

	if (!want)
		return err_set(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < f->n_missing; i++) {
		want[i].max = f->missing[i]->stored;
		(void)snprintf(want[i].path, SOURCE_PATH_SIZE, "blocks/%.2s/%s", f->missing[i]->hash,
		    f->missing[i]->hash);
	}
	if (f->n_missing > 0)
		progress_amount(&f->progress, "fetching", "templates", 0, f->missing_bytes);
	return source_get(f->source, want, f->n_missing, keep_block, f, e);
}

static void drop_blocks(struct fetch *f)
{
	for (size_t i = 0; i < f->n; i++) {
		for (size_t k = 0; k < f->packed[i].n_blocks; k++)
			(void)unlinkat(f->blocks, f->packed[i].blocks[k].hash, 0);
	}
	autofree char *dir = str_fmt("%s/blocks", f->cache);

	if (dir)
		(void)rmdir(dir); /* others may have been left by a fetch of another version */
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static int make_dir(const char *path, mode_t mode, struct err *e)
{
	return mkdir(path, mode) < 0 && errno != EEXIST ? err_sys(e, "create directory '%s'", path) : 0;
}

/* Takes the lock of templates/build: two that make the same template wait for each other. */
static int open_cache(struct fetch *f, struct err *e)
{
	autofree char *templates = str_fmt("%s/templates", f->cache), *blocks = str_fmt("%s/blocks", f->cache),
		      *lock = str_fmt("%s/build.lock", f->cache);

	if (!templates || !blocks || !lock)
		return err_set(e, ENOMEM, "out of memory");
	if (make_dir(f->cache, 0755, e) < 0 || make_dir(templates, 0755, e) < 0 || make_dir(blocks, 0700, e) < 0)
		return -e->no;
	f->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (f->lock < 0)
		return err_sys(e, "open '%s'", lock);
	if (flock(f->lock, LOCK_EX | LOCK_NB) < 0) {
		say("another build or fetch is running; waiting for it");
		while (flock(f->lock, LOCK_EX) < 0) {
			if (errno != EINTR)
				return err_sys(e, "lock '%s'", lock);
		}
	}
	f->blocks = open(blocks, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (f->blocks < 0)
		return err_sys(e, "open '%s'", blocks);
	return packed_tidy(f->cache, e);
}

static void on_unpacked(void *user, const struct packed *p, uint64_t done)
{
	struct fetch *f = user;

	progress_amount(&f->progress, "unpacking", p->name, done, p->plain);
}

/* Drops the templates that are there from the list. */
static void skip_cached(struct fetch *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (template_cached(f->cache, f->asked[i].key))
			(void)printf("%s: is there already\n", f->asked[i].name);
		else
			f->asked[kept++] = f->asked[i];
	}
	f->n = kept;
}

static int fetch_all(struct fetch *f, struct err *e)
{
	uint64_t began = clock_mono_ms();

	if (open_cache(f, e) < 0)
		return -e->no;
	skip_cached(f);
	if (f->n == 0)
		return 0;
	if (source_open(f->from, &f->source, e) < 0)
		return -e->no;
	for (size_t i = 0; i < f->n; i++) {
		if (get_manifest(f, i, e) < 0)
			return -e->no;
	}
	if (find_missing(f, e) < 0 || check_space(f, e) < 0 || get_blocks(f, e) < 0)
		return -e->no;
	for (size_t i = 0; i < f->n; i++) {
		const struct packed *p = &f->packed[i];

		progress_amount(&f->progress, "unpacking", p->name, 0, p->plain);
		if (packed_unpack(p, f->cache, f->blocks, on_unpacked, f, e) < 0)
			return err_wrap(e, "template '%s'", p->name);
		progress_end(&f->progress);
		(void)printf("%s: ready, %.0f MB\n", p->name, (double)p->plain / 1e6);
	}
	drop_blocks(f);
	(void)printf("fetched %.1f MB in %.1f s\n", (double)f->got_bytes / 1e6,
	    (double)(clock_mono_ms() - began) / 1e3);
	return 0;
}

/* The source that install.sh has written down. */
static int default_source(char *to, size_t size, struct err *e)
{
	ssize_t n = file_read(AT_FDCWD, SOURCE_FILE, to, size);

	if (n < 0)
		return err_set(e, (int)-n,
		    "--from DIR or --from URL is required, because '" SOURCE_FILE "' is missing");
	to[strcspn(to, "\r\n")] = '\0';
	return to[0] ? 0 : err_set(e, EINVAL, "'" SOURCE_FILE "' is empty");
}

static int find_keys(struct fetch *f, int n, char **names, struct err *e)
{
	autopaths struct paths p = { 0 };

	if (paths_find(&p, e) < 0)
		return -e->no;
	for (; n > 0 ? f->n < (size_t)n : packed_defaults[f->n] != NULL; f->n++)
		f->asked[f->n].name = n > 0 ? names[f->n] : packed_defaults[f->n];
	template_keys(p.build_script, f->asked, f->n);
	for (size_t i = 0; i < f->n && e->no == 0; i++)
		*e = f->asked[i].e;
	return -e->no;
}

static void fetch_done(struct fetch *f)
{
	progress_end(&f->progress);
	for (size_t i = 0; i < FETCH_MAX; i++)
		packed_done(&f->packed[i]);
	free(f->missing);
	buf_done(&f->text);
	buf_done(&f->signature);
	source_free(f->source);
	fd_close(f->blocks);
	fd_close(f->lock);
}

static int run(const struct verb *v, int argc, char **argv)
{
	static struct fetch f;
	char from[1024];
	const struct opt opts[] = {
		{ "from", 0, OPT_STR, &f.from },
		{ "key", 0, OPT_STR, &f.keys },
		{ "cache", 0, OPT_STR, &f.cache },
	};
	struct err e = ERR_INIT;

	f = (struct fetch) { .keys = TRUSTED_KEYS_DIR,
		.cache = template_cache(),
		.blocks = -1,
		.lock = -1,
		.text = BUF_INIT(PACKED_MANIFEST_MAX),
		.signature = BUF_INIT(SIGNATURE_BYTES) };
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > FETCH_MAX)
		return usage_error(v, "more than %d templates", FETCH_MAX);
	if (geteuid() != 0)
		return fail("'atoll template fetch' must run as root, who owns the files of templates: use sudo");
	if (!f.from && default_source(from, sizeof from, &e) == 0)
		f.from = from;
	(void)umask(022);
	progress_begin(&f.progress, false);
	if (e.no == 0 && find_keys(&f, n, argv, &e) == 0)
		(void)fetch_all(&f, &e);
	fetch_done(&f);
	return e.no ? fail("%s", e.text) : 0;
}

const struct verb verb_template_fetch = {
	.name = "template fetch",
	.summary = "Fetch the server's own templates instead of building them",
	.synopsis = "[NAME...] [--from DIR|URL] [--key FILE|DIR] [--cache DIR]",
	.help = "      --from DIR|URL  what 'atoll template pack' has written: a directory, or an HTTP\n"
		"                      server that offers it (default: the line in\n"
		"                      /etc/atoll/template-source)\n"
		"      --key FILE|DIR  public ed25519 key that must have signed them, in PEM format, or a\n"
		"                      directory of such keys (default: /etc/atoll/template-keys)\n"
		"      --cache DIR     where they are unpacked (default: $ATOLL_CACHE, else\n"
		"                      /var/cache/atoll)\n"
		"\n"
		"Without a NAME: base, code-interpreter-v1 and tools. Templates that are there are left\n"
		"alone. An interrupted fetch continues where it was.\n",
	.run = run,
};
