/* SPDX-License-Identifier: Apache-2.0 */
/* zram: /sys/class/zram-control, a swap header, swapon. */
#include "engine/reclaim/zram.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "base/swaps.h"

#define CONTROL "/sys/class/zram-control"
#define PRIORITY 100 /* before disks, which have negative ones unless the operator says otherwise */
#define NUMBER_MAX 65535

/* From the kernel's include/linux/swap.h: after 1024 bytes for a boot loader. */
#define AT_VERSION 1024
#define AT_LAST_PAGE 1028
#define AT_LABEL 1052
#define LABEL_SIZE 16
#define MAGIC "SWAPSPACE2"
#define AT_MAGIC (ZRAM_HEADER - 10)

void zram_header_fill(char page[ZRAM_HEADER], const char *label, uint64_t bytes)
{
	uint32_t version = 1, last = (uint32_t)(bytes / ZRAM_HEADER - 1);

	memset(page, 0, ZRAM_HEADER);
	memcpy(page + AT_VERSION, &version, sizeof version);
	memcpy(page + AT_LAST_PAGE, &last, sizeof last);
	(void)str_copy(page + AT_LABEL, LABEL_SIZE, str_of(label));
	memcpy(page + AT_MAGIC, MAGIC, strlen(MAGIC));
}

bool zram_header_is(const char page[ZRAM_HEADER], const char *label)
{
	return memcmp(page + AT_MAGIC, MAGIC, strlen(MAGIC)) == 0 && strncmp(page + AT_LABEL, label, LABEL_SIZE) == 0;
}

static void label_of(uint32_t instance, char ret[LABEL_SIZE])
{
	(void)snprintf(ret, LABEL_SIZE, "atoll-%u", instance);
}

static void node_of(unsigned number, char ret[32])
{
	(void)snprintf(ret, 32, "/dev/zram%u", number);
}

static int sys_number(unsigned number, const char *file, uint64_t *ret)
{
	char path[64], z[32];

	(void)snprintf(path, sizeof path, "/sys/block/zram%u/%s", number, file);
	if (file_read(AT_FDCWD, path, z, sizeof z) < 0)
		return -errno;
	z[strcspn(z, "\n")] = '\0';
	return str_to_u64(str_of(z), UINT64_MAX, ret);
}

static int sys_write(unsigned number, const char *file, uint64_t value)
{
	char path[64], z[32];

	(void)snprintf(path, sizeof path, "/sys/block/zram%u/%s", number, file);
	(void)snprintf(z, sizeof z, "%llu", (unsigned long long)value);
	return file_write(AT_FDCWD, path, z);
}

static bool is_labelled(unsigned number, const char *label)
{
	char node[32], page[ZRAM_HEADER];
	uint64_t bytes;

	/* A device without a size has no header, and belongs to whoever is about to give it one. */
	if (sys_number(number, "disksize", &bytes) < 0 || bytes < ZRAM_HEADER)
		return false;
	node_of(number, node);
	autoclose int fd = open(node, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && pread(fd, page, sizeof page, 0) == (ssize_t)sizeof page && zram_header_is(page, label);
}

/* -ENOENT. */
static int find(const char *label, unsigned *ret)
{
	DIR *d = opendir("/sys/block");
	int r = -ENOENT;

	if (!d)
		return -errno;
	for (struct dirent *de; r == -ENOENT && (de = readdir(d));) {
		uint64_t number;

		if (strncmp(de->d_name, "zram", 4) != 0 || str_to_u64(str_of(de->d_name + 4), NUMBER_MAX, &number) < 0)
			continue;
		if (is_labelled((unsigned)number, label)) {
			*ret = (unsigned)number;
			r = 0;
		}
	}
	(void)closedir(d);
	return r;
}

static int take_away(unsigned number, struct err *e)
{
	char node[32], z[16];

	node_of(number, node);
	if (swapoff(node) < 0 && errno != EINVAL) /* EINVAL: it is not in use */
		return err_sys(e, "swapoff '%s'", node);
	int r = sys_write(number, "reset", 1);

	if (r < 0)
		return err_set(e, -r, "reset '%s': %s", node, strerror(-r));
	(void)snprintf(z, sizeof z, "%u", number);
	r = file_write(AT_FDCWD, CONTROL "/hot_remove", z);
	if (r < 0)
		return err_set(e, -r, "remove '%s': %s", node, strerror(-r));
	return 0;
}

static int use(unsigned number, struct err *e)
{
	char node[32];

	node_of(number, node);
	if (swapon(node, SWAP_FLAG_PREFER | (PRIORITY & SWAP_FLAG_PRIO_MASK)) < 0 && errno != EBUSY) /* EBUSY: it is */
		return err_sys(e, "swapon '%s'", node);
	return 0;
}

static int label_it(unsigned number, const char *label, uint64_t bytes, struct err *e)
{
	char node[32], page[ZRAM_HEADER];

	node_of(number, node);
	zram_header_fill(page, label, bytes);
	autoclose int fd = open(node, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open '%s'", node);
	if (pwrite(fd, page, sizeof page, 0) != (ssize_t)sizeof page || fsync(fd) < 0)
		return err_sys(e, "write the swap header of '%s'", node);
	return 0;
}

static int make(const char *label, uint64_t bytes, unsigned *ret, struct err *e)
{
	char z[32];
	uint64_t number;

	if (sysconf(_SC_PAGESIZE) != ZRAM_HEADER)
		return err_set(e, ENOTSUP, "pages of this host have another size than 4 KiB");
	if (file_read(AT_FDCWD, CONTROL "/hot_add", z, sizeof z) < 0)
		return err_set(e, ENOTSUP, "the kernel makes no zram device (is the module loaded? modprobe zram)");
	z[strcspn(z, "\n")] = '\0';
	if (str_to_u64(str_of(z), NUMBER_MAX, &number) < 0)
		return err_set(e, EPROTO, "hot_add says '%s'", z);
	*ret = (unsigned)number;
	int r = sys_write(*ret, "disksize", bytes);

	if (r >= 0)
		r = sys_write(*ret, "mem_limit", bytes / ZRAM_MEMORY_PART);
	if (r < 0)
		(void)err_set(e, -r, "set the size of zram%u: %s", *ret, strerror(-r));
	else if (label_it(*ret, label, bytes, e) == 0 && use(*ret, e) == 0)
		return 0;
	struct err ignored = ERR_INIT;

	(void)take_away(*ret, &ignored);
	return -e->no;
}

int zram_open(uint32_t instance, uint64_t bytes, bool empty, struct err *e)
{
	char label[LABEL_SIZE];
	unsigned number;
	uint64_t has = 0;

	bytes -= bytes % ZRAM_HEADER;
	label_of(instance, label);
	if (find(label, &number) == 0) {
		(void)sys_number(number, "disksize", &has);
		if (has == bytes || !empty)
			return use(number, e);
		if (take_away(number, e) < 0)
			return -e->no;
	}
	if (!bytes)
		return 0;
	if (make(label, bytes, &number, e) < 0)
		return err_wrap(e, "make a compressed swap device");
	log_info("made a compressed swap device", "device=zram%u mib=%llu", number, (unsigned long long)(bytes >> 20));
	return 0;
}

int zram_close(uint32_t instance, struct err *e)
{
	char label[LABEL_SIZE];
	unsigned number;

	label_of(instance, label);
	return find(label, &number) < 0 ? 0 : take_away(number, e);
}
