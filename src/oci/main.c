/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-pull: makes a root directory from an image, see docs/images.md and atoll-pull(8). */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "ipc/settings.h"
#include "oci/blobs.h"
#include "oci/keeper.h"
#include "oci/recipe.h"
#include "oci/report.h"
#include "oci/trash.h"

#define MAX_ENTRIES 1000000
#define STALL_S 30
#define CREDS_LINE_MAX (64u << 10)
#define KEEP_MAX 65536
#define RECIPE "mmdebstrap:"

struct options {
	struct pull_spec pull;
	struct pull_options set; /* of atolld, or the defaults */
	const char *cache, *state, *name, *auth_file;
	uint64_t idle_s;
	int talk; /* -1: stdout, and no socket to read credentials from */
	bool check, gc, gc_images, upload;
	char *keep[KEEP_MAX];
	size_t n_keep;
};

static void usage(void)
{
	(void)fprintf(stderr,
	    "usage: atoll-pull [OPTION]... IMAGE\n"
	    "       atoll-pull [--cache DIR] [--cache-mb N] --gc [--images [--keep KEY]... [--idle-s N]]\n"
	    "IMAGE: NAME[:TAG][@DIGEST] of a registry, oci:DIR[:TAG], archive:FILE[:TAG], "
	    "mmdebstrap:SUITE[,PACKAGE]...\n"
	    "  --cache DIR          where images are kept (/var/cache/atoll)\n"
	    "  --mirror HOST=URL    ask there first for images of HOST; may be repeated\n"
	    "  --registry URL       a registry that may be at a private address, or spoken to by HTTP; may be "
	    "repeated\n"
	    "  --auth-file FILE     credentials as a JSON object; - for standard input\n"
	    "  --platform OS/ARCH   of which images are taken\n"
	    "  --max-mb N, --max-files N   limits of an image, unpacked\n"
	    "  --cache-mb N         limit of the layers that are kept\n"
	    "  --state DIR          of the server that the image is for: it stays as long as that needs it\n"
	    "  --check              only look at the options\n"
	    "  --settings FD        take the settings of atolld from that file\n"
	    "  --stall-s N          silence after which a transfer is tried again\n"
	    "  --talk FD            read credentials from and report to that socket\n"
	    "  --upload             with --talk: the image is an archive that comes through that socket\n");
}

static int to_number(const char *name, const char *z, uint64_t max, uint64_t *ret, struct err *e)
{
	if (str_to_u64(str_of(z), max, ret) < 0 || *ret == 0)
		return err_set(e, EINVAL, "--%s: '%s' is not a number from 1 to %llu", name, z,
		    (unsigned long long)max);
	return 0;
}

static int take_platform(struct options *o, char *z, struct err *e)
{
	char *slash = strchr(z, '/');

	if (!slash || !slash[1] || slash == z)
		return err_set(e, EINVAL, "--platform: '%s' is not OS/ARCH", z);
	*slash = '\0';
	o->pull.platform = (struct platform) { .os = z, .arch = slash + 1 };
	slash = strchr(slash + 1, '/');
	if (slash) {
		*slash = '\0';
		o->pull.platform.variant = slash + 1;
	}
	return 0;
}

enum {
	O_CACHE = 1,
	O_MIRROR,
	O_REGISTRY,
	O_AUTH,
	O_PLATFORM,
	O_MAX_MB,
	O_MAX_FILES,
	O_CACHE_MB,
	O_STALL,
	O_TALK,
	O_GC,
	O_IMAGES,
	O_KEEP,
	O_CHECK,
	O_STATE,
	O_IDLE,
	O_UPLOAD,
	O_SETTINGS
};

static const struct option longs[] = {
	{ "cache", 1, 0, O_CACHE },
	{ "mirror", 1, 0, O_MIRROR },
	{ "registry", 1, 0, O_REGISTRY },
	{ "auth-file", 1, 0, O_AUTH },
	{ "platform", 1, 0, O_PLATFORM },
	{ "max-mb", 1, 0, O_MAX_MB },
	{ "max-files", 1, 0, O_MAX_FILES },
	{ "cache-mb", 1, 0, O_CACHE_MB },
	{ "stall-s", 1, 0, O_STALL },
	{ "talk", 1, 0, O_TALK },
	{ "gc", 0, 0, O_GC },
	{ "check", 0, 0, O_CHECK },
	{ "images", 0, 0, O_IMAGES },
	{ "keep", 1, 0, O_KEEP },
	{ "state", 1, 0, O_STATE },
	{ "idle-s", 1, 0, O_IDLE },
	{ "upload", 0, 0, O_UPLOAD },
	{ "settings", 1, 0, O_SETTINGS },
	{ 0 },
};

static int add_keep(struct options *o, char *key, struct err *e)
{
	if (strlen(key) != PLACE_KEY_SIZE - 1 || strspn(key, "0123456789abcdef") != PLACE_KEY_SIZE - 1)
		return err_set(e, EINVAL, "--keep: '%.64s' is not the key of an image", key);
	if (o->n_keep == KEEP_MAX)
		return err_set(e, E2BIG, "--keep: more than %d", KEEP_MAX);
	o->keep[o->n_keep++] = key;
	return 0;
}

static int to_mb(const char *name, const char *z, uint32_t *ret, struct err *e)
{
	uint64_t n;

	if (to_number(name, z, MEGABYTES_MAX, &n, e) < 0)
		return -e->no;
	*ret = (uint32_t)n;
	return 0;
}

/* What atolld passes. Options that come later take precedence. */
static int take_settings(struct options *o, const char *z, struct err *e)
{
	struct pull_options *set = &o->set;
	uint64_t fd;

	if (to_number("settings", z, 1023, &fd, e) < 0 || options_read((int)fd, OPTIONS_PULL, set, sizeof *set, e) < 0)
		return -e->no;
	fd_close((int)fd);
	o->cache = set->cache;
	o->state = set->state;
	if (set->registry_mirrors[0] && policy_add_mirrors(&o->pull.policy, str_of(set->registry_mirrors), e) < 0)
		return -e->no;
	return set->registries[0] ? policy_add_registries(&o->pull.policy, str_of(set->registries), e) : 0;
}

static int take_option(struct options *o, int c, struct err *e)
{
	uint64_t n;

	switch (c) {
	case O_CACHE:
		o->cache = optarg;
		return 0;
	case O_STATE:
		o->state = optarg;
		return 0;
	case O_MIRROR:
		return policy_add_mirrors(&o->pull.policy, str_of(optarg), e);
	case O_REGISTRY:
		return policy_add_registries(&o->pull.policy, str_of(optarg), e);
	case O_AUTH:
		o->auth_file = optarg;
		return 0;
	case O_PLATFORM:
		return take_platform(o, optarg, e);
	case O_CHECK:
		o->check = true;
		return 0;
	case O_GC:
		o->gc = true;
		return 0;
	case O_IMAGES:
		o->gc_images = true;
		return 0;
	case O_UPLOAD:
		o->upload = true;
		return 0;
	case O_IDLE:
		return to_number("idle-s", optarg, UINT32_MAX, &o->idle_s, e);
	case O_CACHE_MB:
		return to_mb("cache-mb", optarg, &o->set.image_cache_mb, e);
	case O_MAX_MB:
		return to_mb("max-mb", optarg, &o->set.image_max_mb, e);
	case O_MAX_FILES:
		return to_number("max-files", optarg, 100000000, &o->pull.max_entries, e);
	case O_STALL:
		if (to_number("stall-s", optarg, 3600, &n, e) == 0)
			o->pull.stall_s = (unsigned)n;
		return e->no ? -e->no : 0;
	case O_TALK:
		if (to_number("talk", optarg, 1023, &n, e) == 0)
			o->talk = (int)n;
		return e->no ? -e->no : 0;
	case O_KEEP:
		return add_keep(o, optarg, e);
	case O_SETTINGS:
		return take_settings(o, optarg, e);
	default:
		usage();
		exit(2);
	}
}

/* oci:DIR[:TAG], archive:FILE[:TAG]. A colon separates a tag only if no file has the whole name. */
static int take_path(struct options *o, const char *path, bool is_dir, struct err *e)
{
	char file[4096];
	const char *colon = strrchr(path, ':');

	/* a client of the socket must not access paths of this machine */
	if (o->talk >= 0)
		return err_set(e, EINVAL, "only images of registries can be had here");
	o->pull.source = is_dir ? PULL_LAYOUT : PULL_ARCHIVE;
	(void)str_copy(file, sizeof file, str_of(path));
	if (access(path, F_OK) < 0 && colon && !strchr(colon, '/')) {
		(void)str_copy(file, sizeof file, (struct str) { path, (size_t)(colon - path) });
		if (!str_copy(o->pull.tag, sizeof o->pull.tag, str_of(colon + 1)))
			return err_set(e, EINVAL, "the tag is too long");
	}
	o->pull.source_fd = open(file, O_RDONLY | O_CLOEXEC | (is_dir ? O_DIRECTORY : 0));
	return o->pull.source_fd < 0 ? err_sys(e, "open '%s'", file) : 0;
}

static int take_image(struct options *o, const char *name, struct err *e)
{
	static const struct {
		const char *prefix;
		bool is_dir;
	} kinds[] = { { "oci:", true }, { "archive:", false }, { "oci-archive:", false }, { "docker-archive:", false },
		{ "rootfs:", false } };
	static char whole[1400];
	autobuf struct buf b = BUF_INIT(sizeof whole);

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (str_starts(str_of(name), kinds[i].prefix)) {
			o->name = name;
			return take_path(o, name + strlen(kinds[i].prefix), kinds[i].is_dir, e);
		}
	}
	if (str_starts(str_of(name), RECIPE) && o->talk < 0) {
		o->name = name;
		o->pull.source = PULL_STREAM;
		o->pull.recipe = name + strlen(RECIPE);
		return recipe_check(o->pull.recipe, e);
	}
	if (ref_parse(str_of(name), &o->pull.ref, e) < 0)
		return -e->no;
	ref_put(&b, &o->pull.ref);
	(void)str_copy(whole, sizeof whole, buf_view(&b));
	o->name = whole;
	return 0;
}

/* Reads one line of the socket, or a whole file. */
static int read_creds(struct options *o, struct err *e)
{
	autobuf struct buf b = BUF_INIT(CREDS_LINE_MAX);
	autoclose int own = -1;
	int fd = o->talk;
	ssize_t n = 0;
	char c;

	if (o->talk < 0 && !o->auth_file)
		return 0;
	if (o->talk < 0 && strcmp(o->auth_file, "-") != 0) {
		fd = own = open(o->auth_file, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return err_sys(e, "open '%s'", o->auth_file);
	} else if (o->talk < 0) {
		fd = STDIN_FILENO;
	}
	while ((n = read(fd, &c, 1)) == 1 && !(c == '\n' && o->talk >= 0))
		buf_ch(&b, c);
	if (n < 0 || b.bad)
		return err_set(e, EINVAL, "read credentials: %s", b.bad ? "too long" : strerror(errno));
	int rc = creds_read(buf_view(&b), &o->pull.creds, e);

	explicit_bzero(b.p, b.n);
	return rc;
}

/* One key per line, then an empty line. Without the empty line the list is incomplete and nothing may be removed. */
static int read_keep(struct options *o, struct err *e)
{
	static char text[KEEP_MAX * PLACE_KEY_SIZE + 1];
	size_t begin = 0, n = 0;

	while (n < sizeof text && read(o->talk, text + n, 1) == 1) {
		if (text[n++] != '\n')
			continue;
		text[n - 1] = '\0';
		if (begin == n - 1)
			return 0;
		if (add_keep(o, text + begin, e) < 0)
			return -e->no;
		begin = n;
	}
	return err_set(e, EPROTO, "the list of images to keep is not whole");
}

/* Runs at idle priority, because no client waits for it. If it is killed, the next server that starts deletes the
 * rest. */
static void empty_trash(const struct place *p)
{
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, 3 << 13 /* IOPRIO_CLASS_IDLE */);
	trash_empty(p->trash_fd);
}

static int collect(struct options *o, struct err *e)
{
	struct place p = PLACE_NONE;
	struct blobs b = BLOBS_NONE;
	uint64_t freed = 0;
	unsigned removed = 0;

	if (o->talk >= 0 && read_keep(o, e) < 0)
		return -e->no;
	if (place_open(o->cache, o->gc_images ? o->state : NULL, &p, e) == 0)
		place_sweep(&p);
	if (!e->no && o->gc_images)
		(void)place_remove_images(&p, o->keep, o->n_keep, o->idle_s, &removed, e);
	if (!e->no && blobs_open(p.images_fd, &b, e) == 0)
		(void)blobs_trim(&b, (uint64_t)o->set.image_cache_mb << 20, &freed, e);
	blobs_close(&b);
	if (!e->no) {
		(void)dprintf(o->talk < 0 ? STDOUT_FILENO : o->talk,
		    "{\"event\":\"collected\",\"images\":%u,\"bytes\":%llu}\n", removed, (unsigned long long)freed);
		empty_trash(&p);
	}
	place_close(&p);
	return e->no ? -e->no : 0;
}

/* "BYTES" or "BYTES NAME", where NAME selects one of several images. */
static int read_size(struct options *o, uint64_t *ret, struct err *e)
{
	char line[24 + PULL_NAME_SIZE];
	size_t n = 0;

	while (n < sizeof line && read(o->talk, line + n, 1) == 1 && line[n] != '\n')
		n++;
	struct str name = { line, n }, bytes = str_cut(&name, ' ');

	if (n == sizeof line || line[n] != '\n' || str_to_u64(bytes, UINT64_MAX, ret) < 0)
		return err_set(e, EPROTO, "no archive came");
	if (name.p && !str_copy(o->pull.tag, sizeof o->pull.tag, name))
		return err_set(e, EINVAL, "the name of the image is too long");
	return 0;
}

/* Reads a line with the size of an archive and then the archive into an unnamed file, because it must be seekable.
 * This process does not parse it. An archive that is too large is still read to its end: otherwise the peer would
 * see a broken socket before it sees the reason. */
static int take_upload(struct options *o, struct err *e)
{
	static char piece[256 << 10];
	struct place p = PLACE_NONE;
	uint64_t size = 0;

	if (read_size(o, &size, e) < 0 || place_open(o->cache, o->state, &p, e) < 0)
		return -e->no;
	o->pull.source_fd = openat(p.work_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (o->pull.source_fd < 0)
		(void)err_sys(e, "make room for the archive");
	if (size > o->pull.max_bytes)
		(void)err_set(e, EFBIG, "it has more than %llu MiB", (unsigned long long)(o->pull.max_bytes >> 20));
	for (ssize_t n; size; size -= (uint64_t)n) {
		n = read(o->talk, piece, size < sizeof piece ? (size_t)size : sizeof piece);
		int rc = n <= 0 ? -EPIPE : e->no ? 0 : fd_write_all(o->pull.source_fd, piece, (size_t)n);

		if (rc < 0)
			(void)err_set(e, -rc, "take it: %s", n <= 0 ? "it is cut off" : strerror(-rc));
		if (n <= 0)
			break;
	}
	place_close(&p);
	o->pull.source = PULL_ARCHIVE;
	o->name = "an archive";
	return e->no ? -e->no : 0;
}

static int run(struct options *o, int argc, char **argv, struct err *e)
{
	if (o->check)
		return 0;
	o->pull.max_bytes = (uint64_t)o->set.image_max_mb << 20;
	if (geteuid() != 0)
		return err_set(e, EPERM, "this needs root, to make the namespaces in which it then has no power");
	if (o->gc)
		return collect(o, e);
	if (optind + !o->upload != argc || (o->upload && o->talk < 0)) {
		usage();
		exit(2);
	}
	if (o->upload ? take_upload(o, e) < 0 : take_image(o, argv[optind], e) < 0 || read_creds(o, e) < 0)
		return -e->no;
	const struct keeper_spec k = { &o->pull, o->cache, o->state, o->name, (uint64_t)o->set.image_cache_mb << 20,
		o->talk < 0 ? STDOUT_FILENO : o->talk, o->talk >= 0 };

	return keeper_run(&k, e);
}

int main(int argc, char **argv)
{
	static struct options o;
	struct err e = ERR_INIT;

	(void)umask(022);
	o = (struct options) {
		.pull = { .source_fd = -1,
		    .platform = platform_here(),
		    .stall_s = STALL_S,
		    .max_entries = MAX_ENTRIES },
		.set = {
#define OF pull
#define SETTING(of, form, name, words, type, array, default_) .name = default_,
#include "ipc/settings_of.tbl"
		},
		.talk = -1,
	};
	o.cache = getenv("ATOLL_CACHE") ? getenv("ATOLL_CACHE") : o.set.cache;
	for (int c; !e.no && (c = getopt_long(argc, argv, "", longs, NULL)) != -1;)
		(void)take_option(&o, c, &e);
	if (!e.no)
		(void)run(&o, argc, argv, &e);
	creds_done(&o.pull.creds);
	if (!e.no)
		return 0;
	if (!o.check)
		report_error(o.talk < 0 ? STDOUT_FILENO : o.talk, &e);
	if (o.talk < 0)
		(void)fprintf(stderr, "atoll-pull: %s\n", e.text);
	return 1;
}
