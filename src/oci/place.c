/* SPDX-License-Identifier: Apache-2.0 */
/* oci/place: the cache's directories, slots, and the rename that publishes an image. */
#include "oci/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "engine/disk/tree.h"
#include "oci/trash.h"

#define SLOT_WAIT_MS 60000
#define FORMAT "atoll image 1\n" /* part of the key: change it when layers are applied differently */

static int open_dir(int at, const char *name, mode_t mode, int *ret, struct err *e)
{
	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return err_sys(e, "make the directory '%s'", name);
	*ret = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? err_sys(e, "open the directory '%s'", name) : 0;
}

int place_open(const char *cache, const char *state, struct place *ret, struct err *e)
{
	autoclose int fd = -1;

	*ret = (struct place)PLACE_NONE;
	if (open_dir(AT_FDCWD, cache, 0755, &fd, e) < 0 || open_dir(fd, "templates", 0755, &ret->templates_fd, e) < 0 ||
	    open_dir(fd, "images", 0700, &ret->images_fd, e) < 0 ||
	    open_dir(ret->images_fd, "work", 0700, &ret->work_fd, e) < 0 ||
	    trash_open(ret->images_fd, &ret->trash_fd, e) < 0 || pins_open(ret->images_fd, state, &ret->pins, e) < 0)
		return err_wrap(e, "cache '%.100s'", cache);
	return 0;
}

static int lock_slot(struct place *p, unsigned i)
{
	char name[24];

	(void)snprintf(name, sizeof name, "slot.%u", i);
	autoclose int fd = openat(p->images_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	p->slot_fd = take_fd(&fd);
	p->slot = i;
	(void)snprintf(p->name, sizeof p->name, "%u", i);
	return 0;
}

int place_take_slot(struct place *p, struct err *e)
{
	uint64_t until = clock_mono_ms() + SLOT_WAIT_MS;
	autoclose int root = -1;
	int rc = -EBUSY;

	for (;;) {
		for (unsigned i = 0; rc < 0 && i < PLACE_SLOTS; i++)
			rc = lock_slot(p, i);
		if (rc == 0)
			break;
		if (clock_mono_ms() > until)
			return err_set(e, EBUSY, "%d images are being pulled already", PLACE_SLOTS);
		(void)usleep(200000);
	}
	rc = tree_remove(p->work_fd, p->name);
	if (rc < 0 && rc != -ENOENT)
		return err_set(e, -rc, "remove what an interrupted pull has left: %s", strerror(-rc));
	/* Only root may enter: the tree will contain set-uid programs, which users of the host must not reach. */
	if (open_dir(p->work_fd, p->name, 0700, &p->dir_fd, e) < 0 || open_dir(p->dir_fd, "rootfs", 0755, &root, e) < 0)
		return -e->no;
	return fchmod(root, 0755) < 0 ? err_sys(e, "make the root of the image") : 0;
}

void place_close(struct place *p)
{
	if (p->dir_fd >= 0)
		(void)tree_remove(p->work_fd, p->name);
	fd_close(p->dir_fd);
	fd_close(p->work_fd);
	fd_close(p->trash_fd);
	fd_close(p->templates_fd);
	fd_close(p->images_fd);
	pins_close(&p->pins);
	fd_close(p->slot_fd); /* last: this frees the slot */
	*p = (struct place)PLACE_NONE;
}

void place_sweep(struct place *p)
{
	for (unsigned i = 0; i < PLACE_SLOTS; i++) {
		if (lock_slot(p, i) < 0)
			continue;
		(void)trash_put(p->trash_fd, p->work_fd, p->name);
		fd_close(take_fd(&p->slot_fd));
	}
}

void place_key(const struct fetch_plan *plan, char out[PLACE_KEY_SIZE])
{
	autobuf struct buf all = BUF_INIT(64u << 10);
	char hex[DIGEST_HEX_SIZE];
	struct digest d;

	buf_z(&all, FORMAT);
	for (uint32_t i = 0; i < plan->n_layers; i++) {
		digest_hex(&plan->layer[i].diff_id, hex);
		buf_fmt(&all, "%s\n", hex);
	}
	digest_of(buf_view(&all), &d);
	digest_hex(&d, hex);
	(void)str_copy(out, PLACE_KEY_SIZE, (struct str) { hex, PLACE_KEY_SIZE - 1 });
}

/* The mtime of the info file is the time of the last pull. */
static void note_use(const struct place *p, const char *key)
{
	char path[64];

	(void)snprintf(path, sizeof path, "%s/info", key);
	(void)utimensat(p->templates_fd, path, NULL, AT_SYMLINK_NOFOLLOW);
}

static bool used_since(const struct place *p, const char *key, uint64_t idle_s)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/info", key);
	return fstatat(p->templates_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_mtime > time(NULL) - (time_t)idle_s;
}

int place_has(const struct place *p, const char *key, struct err *e)
{
	int rc = 0;

	if (pins_lock(&p->pins, e) < 0)
		return -e->no;
	if (faccessat(p->templates_fd, key, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		note_use(p, key);
		rc = pins_add(&p->pins, key, e) < 0 ? -e->no : 1;
	}
	pins_unlock(&p->pins);
	return rc;
}

static int write_info(const struct place *p, const char *ref, const struct fetch_plan *plan, struct err *e)
{
	autobuf struct buf text = BUF_INIT(4096);
	char now[CLOCK_RFC3339_SIZE], digest[DIGEST_TEXT_SIZE];

	clock_rfc3339(clock_wall_ms(), now);
	digest_text(&plan->manifest, digest);
	buf_fmt(&text, "image=%s\ndigest=%s\ncreated=%s\n", ref, digest, now);
	autoclose int fd = openat(p->dir_fd, "info", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || text.bad || fd_write_all(fd, text.p, text.n) < 0)
		return err_sys(e, "write the note about the image");
	return 0;
}

int place_finish(struct place *p, const char *key, const char *ref, const struct fetch_plan *plan, struct err *e)
{
	if (write_info(p, ref, plan, e) < 0)
		return -e->no;
	/* Before the rename: after a crash, a name must not refer to an incomplete image. */
	if (syncfs(p->dir_fd) < 0)
		return err_sys(e, "write the image to disk");
	if (pins_lock(&p->pins, e) < 0)
		return -e->no;
	if (pins_add(&p->pins, key, e) == 0 &&
	    renameat2(p->work_fd, p->name, p->templates_fd, key, RENAME_NOREPLACE) < 0 &&
	    errno != EEXIST) /* another pull was faster; place_close() removes ours */
		(void)err_sys(e, "put the image into its place");
	pins_unlock(&p->pins);
	return e->no ? -e->no : 0;
}

/* --- removal --- */

static bool is_key(const char *name)
{
	return strlen(name) == PLACE_KEY_SIZE - 1 && strspn(name, "0123456789abcdef") == PLACE_KEY_SIZE - 1;
}

static bool is_image(int templates_fd, const char *key)
{
	char path[64], text[4096];

	(void)snprintf(path, sizeof path, "%s/info", key);
	return file_read(templates_fd, path, text, sizeof text) > 0 && strncmp(text, "image=", 6) == 0;
}

static bool is_in(const char *key, char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], key) == 0)
			return true;
	}
	return false;
}

/* By one rename, so that an incomplete image is never found. */
static bool move_out(const struct place *p, const char *key, uint64_t idle_s)
{
	struct err e = ERR_INIT;

	if (pins_lock(&p->pins, &e) < 0)
		return false;
	bool moved = !pins_any(&p->pins, key) && !used_since(p, key, idle_s) &&
	    trash_put(p->trash_fd, p->templates_fd, key) == 0;

	pins_unlock(&p->pins);
	return moved;
}

int place_remove_images(struct place *p, char *const *keep, size_t n, uint64_t idle_s, unsigned *ret_removed,
    struct err *e)
{
	*ret_removed = 0;
	if (pins_set(&p->pins, keep, n, e) < 0 || pins_drop_strays(&p->pins, e) < 0)
		return -e->no;
	int own = openat(p->templates_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		fd_close(own);
		return err_sys(e, "look through the templates");
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (is_key(de->d_name) && !is_in(de->d_name, keep, n) && is_image(own, de->d_name) &&
		    move_out(p, de->d_name, idle_s))
			++*ret_removed;
	}
	(void)closedir(d);
	return 0;
}
