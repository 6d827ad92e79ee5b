/* SPDX-License-Identifier: Apache-2.0 */
/* bundle: RUN/gvisor/ID. The specification has one shape; what varies in it are numbers, an id, and paths of ours. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "engine/caps_kept.h"
#include "engine/dev.h"
#include "engine/etc.h"
#include "engine/gvisor/gvisor.h"
#include "engine/ns.h"
#include "engine/slot.h"

#define CONFIG_MAX 16384
#define OOM_SCORE 500 /* of its processes on the host, as of the processes of other sandboxes */

static const char *const dirs[] = { "state" };
static const char *const files[] = { "config.json", "meminfo", "pid" };

static const struct {
	int cap;
	const char *name;
} caps[] = {
	{ CAP_CHOWN, "CAP_CHOWN" },
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
	{ CAP_FOWNER, "CAP_FOWNER" },
	{ CAP_FSETID, "CAP_FSETID" },
	{ CAP_KILL, "CAP_KILL" },
	{ CAP_SETGID, "CAP_SETGID" },
	{ CAP_SETUID, "CAP_SETUID" },
	{ CAP_SETPCAP, "CAP_SETPCAP" },
	{ CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE" },
	{ CAP_SYS_CHROOT, "CAP_SYS_CHROOT" },
	{ CAP_AUDIT_WRITE, "CAP_AUDIT_WRITE" },
	{ CAP_SETFCAP, "CAP_SETFCAP" },
};

#define NAMED \
	(CAPS_BIT(CAP_CHOWN) | CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) | CAPS_BIT(CAP_FSETID) | \
	    CAPS_BIT(CAP_KILL) | CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETPCAP) | \
	    CAPS_BIT(CAP_NET_BIND_SERVICE) | CAPS_BIT(CAP_SYS_CHROOT) | CAPS_BIT(CAP_AUDIT_WRITE) | \
	    CAPS_BIT(CAP_SETFCAP))
_Static_assert(NAMED == CAPS_KEPT, "each capability that a sandbox keeps has its name here");

int bundle_make(struct engine *en, const char *id, struct bundle *ret, struct err *e)
{
	struct bundle b = BUNDLE_NONE;

	(void)snprintf(b.dir, sizeof b.dir, "%s/%s", en->gvisor->dir, id);
	if (mkdirat(en->gvisor->dir_fd, id, 0711) < 0)
		return err_sys(e, "make '%s'", b.dir);
	b.dir_fd = openat(en->gvisor->dir_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (b.dir_fd < 0)
		return err_sys(e, "open '%s'", b.dir);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (mkdirat(b.dir_fd, dirs[i], 0700) < 0) {
			(void)err_sys(e, "make '%s/%s'", b.dir, dirs[i]);
			bundle_close(&b);
			return -e->no;
		}
	}
	*ret = b;
	return 0;
}

int bundle_reopen(struct bundle *b, struct err *e)
{
	bundle_close(b);
	b->dir_fd = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return b->dir_fd < 0 ? err_sys(e, "open '%s'", b->dir) : 0;
}

void bundle_close(struct bundle *b)
{
	fd_close(take_fd(&b->dir_fd));
}

/* One level of files: what runsc leaves in its state directory. */
static void empty(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
			(void)unlinkat(dirfd(d), de->d_name, 0);
	}
	(void)closedir(d);
}

void bundle_remove(struct engine *en, const char *id)
{
	autoclose int fd = en->gvisor->dir_fd < 0
	    ? -1
	    : openat(en->gvisor->dir_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	empty(fd, "state");
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		(void)unlinkat(fd, files[i], 0);
	/* Mount points: never more than empty directories in this mount namespace. */
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		(void)unlinkat(fd, dirs[i], AT_REMOVEDIR);
	(void)unlinkat(en->gvisor->dir_fd, id, AT_REMOVEDIR);
}

/* Beyond those of every sandbox. None of them lets root inside trace init, which has the token. */
static const struct {
	uint32_t needs;
	const char *name;
} more_caps[] = {
	{ ENGINE_NEEDS_DOCKER | ENGINE_NEEDS_FUSE, "CAP_SYS_ADMIN" },
	{ ENGINE_NEEDS_DOCKER, "CAP_NET_ADMIN" },
	{ ENGINE_NEEDS_DOCKER, "CAP_MKNOD" },
};

static void put_caps(struct buf *out, uint32_t needs)
{
	static const char *const sets[] = { "bounding", "effective", "permitted" };

	buf_z(out, "\"capabilities\":{");
	for (size_t k = 0; k < ARRAY_LEN(sets); k++) {
		buf_fmt(out, "%s\"%s\":[", k ? "," : "", sets[k]);
		for (size_t i = 0; i < ARRAY_LEN(caps); i++)
			buf_fmt(out, "%s\"%s\"", i ? "," : "", caps[i].name);
		for (size_t i = 0; i < ARRAY_LEN(more_caps); i++) {
			if (needs & more_caps[i].needs)
				buf_fmt(out, ",\"%s\"", more_caps[i].name);
		}
		buf_z(out, "]");
	}
	buf_z(out, "}");
}

static void put_process(struct buf *out, const struct engine_spec *sp)
{
	buf_z(out,
	    "\"process\":{\"user\":{\"uid\":0,\"gid\":0},\"cwd\":\"/\",\"args\":[\"/dev/" DEV_INIT "\"],"
	    "\"env\":[\"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\",\"ATOLL_TOKEN_FD=3\"],");
	put_caps(out, sp->needs);
	buf_fmt(out, ",\"oomScoreAdj\":%d,\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"hard\":%u,\"soft\":%u}]},",
	    OOM_SCORE, sp->limits.open_files, sp->limits.open_files);
}

static void put_mounts(struct buf *out, const char *place, const struct engine_spec *sp)
{
	buf_z(out,
	    "\"mounts\":["
	    "{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
	    "{\"destination\":\"/sys\",\"type\":\"sysfs\",\"source\":\"sysfs\",\"options\":[\"ro\"]},"
	    "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"},"
	    "{\"destination\":\"/dev/pts\",\"type\":\"devpts\",\"source\":\"devpts\"},"
	    "{\"destination\":\"/dev/mqueue\",\"type\":\"mqueue\",\"source\":\"mqueue\"},");
	buf_fmt(out,
	    "{\"destination\":\"/dev/shm\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":[\"mode=1777\",\"size="
	    "%" PRIu64 "\"]},",
	    sp->limits.mem_bytes / 2);
	if (sp->needs & ENGINE_NEEDS_DOCKER) /* gVisor's own cgroups, not the host's */
		buf_z(out,
		    "{\"destination\":\"/sys/fs/cgroup\",\"type\":\"cgroup\",\"source\":\"cgroup\","
		    "\"options\":[\"rw\"]},");
	buf_fmt(out,
	    "{\"destination\":\"/dev/.atoll\",\"type\":\"bind\",\"source\":\"%s/"
	    "init\",\"options\":[\"bind\",\"ro\"]}],",
	    place);
}

static void put_linux(struct buf *out, const struct bundle_spec *sp)
{
	buf_fmt(out,
	    "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},{\"type\":\"mount\"},"
	    "{\"type\":\"user\"},{\"type\":\"network\",\"path\":\"/proc/%d/fd/%d\"}],",
	    (int)getpid(), sp->netns_fd);
	for (int i = 0; i < 2; i++)
		buf_fmt(out, "%s\"%cidMappings\":[{\"containerID\":0,\"hostID\":%u,\"size\":%u}]", i ? "," : "",
		    i ? 'g' : 'u', (unsigned)sp->root, SLOT_UIDS);
	buf_z(out, "}");
}

static int write_one(int dir_fd, const char *name, mode_t mode, const char *text, struct err *e)
{
	autoclose int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

	return r < 0 ? err_set(e, -r, "write '%s': %s", name, strerror(-r)) : 0;
}

int bundle_write(const struct bundle *b, const struct bundle_spec *sp, struct err *e)
{
	autobuf struct buf out = BUF_INIT(CONFIG_MAX);
	char meminfo[64];

	buf_fmt(&out, "{\"ociVersion\":\"1.0.0\",\"hostname\":\"" ETC_HOSTNAME "\",\"root\":{\"path\":\"%s/root\"},",
	    sp->place);
	put_process(&out, sp->spec);
	put_mounts(&out, sp->place, sp->spec);
	put_linux(&out, sp);
	buf_z(&out, "}\n");
	const char *text = buf_cstr(&out);

	if (!text)
		return err_set(e, ENOMEM, "out of memory");
	(void)snprintf(meminfo, sizeof meminfo, "MemTotal: %" PRIu64 " kB\n", sp->spec->limits.mem_bytes / 1024);
	if (write_one(b->dir_fd, "config.json", 0600, text, e) < 0)
		return -e->no;
	return write_one(b->dir_fd, "meminfo", 0400, meminfo, e);
}
