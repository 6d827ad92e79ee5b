/* SPDX-License-Identifier: Apache-2.0 */
/* atoll template pack: writes built templates as signed, content-addressed files for 'atoll template fetch'. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/opts.h"
#include "cli/packed/cut.h"
#include "cli/packed/manifest.h"
#include "cli/packed/packed.h"
#include "cli/packed/sign.h"
#include "cli/paths.h"
#include "cli/settings.h"
#include "cli/template/template.h"

#define LEVEL_DEFAULT 9

const char *const packed_defaults[] = { "base", "code-interpreter-v1", "tools", NULL };

struct packer {
	const char *cache, *key_file;
	int out; /* the directory that is written */
	int level;
	ZSTD_CCtx *zstd;
	uint8_t *plain, *stored;  /* one block */
	uint64_t written, shared; /* bytes of blocks that are new, and that were there */
};

/* Replaces the file atomically. */
static int put(int dir, const char *path, const void *p, size_t n, struct err *e)
{
	autofree char *tmp = str_fmt("%s.new", path);
	autoclose int fd = tmp ? openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;

	if (fd < 0)
		return err_sys(e, "create '%s'", path);
	int r = fd_write_all(fd, p, n);
	if (r < 0 || renameat(dir, tmp, dir, path) < 0) {
		errno = r < 0 ? -r : errno;
		(void)err_sys(e, "write '%s'", path);
		(void)unlinkat(dir, tmp, 0);
	}
	return -e->no;
}

static int make_dir(int dir, const char *path, struct err *e)
{
	return mkdirat(dir, path, 0755) < 0 && errno != EEXIST ? err_sys(e, "create directory '%s'", path) : 0;
}

/* Compresses a block, and writes it if it is not there yet. */
static int put_block(struct packer *k, size_t n, struct packed *p, struct err *e)
{
	char path[96];
	struct stat st;
	size_t stored = ZSTD_compressCCtx(k->zstd, k->stored, ZSTD_compressBound(PACKED_BLOCK_MAX), k->plain, n,
	    k->level);

	if (ZSTD_isError(stored) || stored > PACKED_STORED_MAX)
		return err_set(e, EIO, "compress a block");
	if (p->n_blocks == PACKED_BLOCKS_MAX)
		return err_set(e, EFBIG, "the template has more than %u blocks", PACKED_BLOCKS_MAX);
	struct packed_block *b = &p->blocks[p->n_blocks++];

	packed_hash(k->stored, stored, b->hash);
	b->stored = (uint32_t)stored;
	b->plain = (uint32_t)n;
	p->plain += n;
	(void)snprintf(path, sizeof path, "blocks/%.2s", b->hash);
	if (make_dir(k->out, path, e) < 0)
		return -e->no;
	(void)snprintf(path, sizeof path, "blocks/%.2s/%s", b->hash, b->hash);
	if (fstatat(k->out, path, &st, 0) == 0 && (uint64_t)st.st_size == stored) {
		k->shared += stored;
		return 0;
	}
	k->written += stored;
	return put(k->out, path, k->stored, stored, e);
}

/* Cuts what tar writes into blocks. */
static int cut_stream(struct packer *k, int from, struct packed *p, struct err *e)
{
	size_t n = 0;
	ssize_t r = 1;

	while (r > 0 || n > 0) {
		while (n < PACKED_BLOCK_MAX && (r = read(from, k->plain + n, PACKED_BLOCK_MAX - n)) > 0)
			n += (size_t)r;
		if (r < 0)
			return err_sys(e, "read the template");
		size_t block = n ? cut_find(k->plain, n) : 0;

		if (block && put_block(k, block, p, e) < 0)
			return -e->no;
		memmove(k->plain, k->plain + block, n - block);
		n -= block;
	}
	return 0;
}

/* The same tree always gives the same bytes. */
static pid_t start_tar(const char *dir, int *ret_fd, struct err *e)
{
	const char *const argv[] = { "tar", "--create", "--sort=name", "--format=posix", "--numeric-owner", "--xattrs",
		"--xattrs-include=*", "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime", "-C", dir,
		"info", "rootfs", NULL };
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "create a pipe");
	pid_t pid = fork();

	if (pid == 0) {
		if (dup2(fds[1], STDOUT_FILENO) == STDOUT_FILENO && setenv("LC_ALL", "C", 1) == 0)
			(void)execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	fd_close(fds[1]);
	*ret_fd = fds[0];
	return pid > 0 ? pid : err_sys(e, "fork");
}

static int pack_tree(struct packer *k, const char *dir, struct packed *p, struct err *e)
{
	autoclose int from = -1;
	int status = 0;
	pid_t pid = start_tar(dir, &from, e);

	if (pid < 0)
		return -e->no;
	if (cut_stream(k, from, p, e) < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (e->no == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		return err_set(e, EIO, "tar could not read '%s'", dir);
	return -e->no;
}

static int write_manifest(struct packer *k, const struct packed *p, struct err *e)
{
	autobuf struct buf text = BUF_INIT(PACKED_MANIFEST_MAX);
	autofree char *path = str_fmt("%s/%s.manifest", p->arch, p->key),
		      *sig_path = str_fmt("%s/%s.manifest.sig", p->arch, p->key);
	unsigned char sig[SIGNATURE_BYTES];

	packed_write(p, &text);
	if (text.bad || !path || !sig_path)
		return err_set(e, ENOMEM, "out of memory");
	if (sign_text(k->key_file, buf_view(&text), sig, e) < 0 || make_dir(k->out, p->arch, e) < 0)
		return -e->no;
	/* The blocks are there. A manifest without its signature is refused, so the order of these two does not matter.
	 */
	return put(k->out, path, text.p, text.n, e) < 0 ? -e->no : put(k->out, sig_path, sig, sizeof sig, e);
}

static int pack_one(struct packer *k, const char *build_script, const char *name, struct err *e)
{
	autopacked struct packed p = { 0 };

	if (template_key(build_script, name, p.key, e) < 0)
		return -e->no;
	autofree char *dir = str_fmt("%s/templates/%s", k->cache, p.key);

	p.blocks = calloc(PACKED_BLOCKS_MAX, sizeof *p.blocks);
	if (!dir || !p.blocks)
		return err_set(e, ENOMEM, "out of memory");
	if (!template_cached(k->cache, p.key))
		return err_set(e, ENOENT, "template '%s' is not built ('%s %s' builds it)", name, build_script, name);
	if (!str_copy(p.name, sizeof p.name, str_of(name)) || !str_copy(p.arch, sizeof p.arch, str_of(packed_arch())) ||
	    !str_copy(p.version, sizeof p.version, str_of(ATOLL_VERSION)))
		return err_set(e, ENAMETOOLONG, "the name '%s' is too long", name);
	k->written = k->shared = 0;
	if (pack_tree(k, dir, &p, e) < 0 || write_manifest(k, &p, e) < 0)
		return err_wrap(e, "pack '%s'", name);
	(void)printf("%s %s: %zu blocks, %.1f MB, of which %.1f MB were there\n", name, p.key, p.n_blocks,
	    (double)(k->written + k->shared) / 1e6, (double)k->shared / 1e6);
	return 0;
}

static int open_out(struct packer *k, const char *out, struct err *e)
{
	k->out = mkdir(out, 0755) < 0 && errno != EEXIST ? -1 : open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->out < 0)
		return err_sys(e, "create directory '%s'", out);
	k->zstd = ZSTD_createCCtx();
	k->plain = malloc(PACKED_BLOCK_MAX);
	k->stored = malloc(ZSTD_compressBound(PACKED_BLOCK_MAX));
	if (!k->zstd || !k->plain || !k->stored)
		return err_set(e, ENOMEM, "out of memory");
	return make_dir(k->out, "blocks", e);
}

static void packer_done(struct packer *k)
{
	fd_close(k->out);
	(void)ZSTD_freeCCtx(k->zstd);
	free(k->plain);
	free(k->stored);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct packer k = { .cache = template_cache(), .out = -1 };
	const char *out = NULL;
	int64_t level = LEVEL_DEFAULT;
	const struct opt opts[] = {
		{ "output", 'o', OPT_STR, &out },
		{ "key", 0, OPT_STR, &k.key_file },
		{ "cache", 0, OPT_STR, &k.cache },
		{ "level", 0, OPT_NUMBER, &level },
	};
	autopaths struct paths paths = { 0 };
	struct err e = ERR_INIT;
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (!out || !*out || !k.key_file)
		return usage_error(v, "-o DIR and --key FILE are required");
	if (level < 1 || level > 19)
		return usage_error(v, "--level must be from 1 to 19");
	k.level = (int)level;
	const char *const *names = n > 0 ? (const char *const *)argv : packed_defaults;

	if (paths_find(&paths, &e) == 0 && open_out(&k, out, &e) == 0) {
		for (size_t i = 0; e.no == 0 && (n > 0 ? i < (size_t)n : names[i] != NULL); i++)
			(void)pack_one(&k, paths.build_script, names[i], &e);
	}
	packer_done(&k);
	return e.no ? fail("%s", e.text) : 0;
}

const struct verb verb_template_pack = {
	.name = "template pack",
	.summary = "Write the server's own templates as files for 'atoll template fetch'",
	.synopsis = "[NAME...] -o DIR --key FILE [--cache DIR] [--level N]",
	.help = "  -o, --output DIR  directory to write to; blocks that it has are kept and shared\n"
		"      --key FILE    private ed25519 key that signs, in PEM format\n"
		"                    (openssl genpkey -algorithm ed25519 -out FILE)\n"
		"      --cache DIR   where the built templates are (default: $ATOLL_CACHE, else\n"
		"                    /var/cache/atoll)\n"
		"      --level N     of the compression, 1 to 19 (default: 9)\n"
		"\n"
		"Without a NAME: base, code-interpreter-v1 and tools. Any HTTP server can offer DIR.\n"
		"Runs as root, because the templates contain files that only root may read.\n",
	.run = run,
};
