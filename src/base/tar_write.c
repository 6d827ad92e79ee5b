/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar_write: names, and headers of entries. */
#include <errno.h>
#include <stdio.h>

#include "base/tar.h"

#define USTAR_SIZE_MAX 077777777777ull /* 8 GiB - 1 */

bool tar_name_ok(const char *name)
{
	struct str rest = str_of(name);

	if (rest.n == 0 || name[0] == '/')
		return false;
	while (rest.p) {
		if (str_is(str_cut(&rest, '/'), ".."))
			return false;
	}
	return true;
}

bool tar_link_inside(const char *name, const char *target)
{
	struct str rest = str_of(name);
	int64_t up = -1; /* number of ".." allowed: directories in the name, without the link itself */
	bool down = false;

	while (rest.p) {
		struct str part = str_cut(&rest, '/');

		up += part.n > 0 && !str_is(part, ".");
	}
	rest = str_of(target);
	if (rest.n == 0 || target[0] == '/')
		return false;
	while (rest.p) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_is(part, "."))
			continue;
		/* After a name, which may be a link itself, ".." can lead anywhere. */
		if (str_is(part, "..") && (down || --up < 0))
			return false;
		down |= !str_is(part, "..");
	}
	return true;
}

size_t tar_padding(uint64_t size)
{
	return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static void put_zeroes(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_ch(out, '\0');
}

/* "LENGTH key=value\n", where the length includes its own digits. */
static void put_record(struct buf *out, const char *key, const char *value)
{
	size_t body = strlen(key) + strlen(value) + 3, len = body + 1;
	char digits[24];

	while ((size_t)snprintf(digits, sizeof(digits), "%zu", len) + body != len)
		len++;
	buf_fmt(out, "%zu %s=%s\n", len, key, value);
}

static char type_char(enum tar_type t)
{
	return t == TAR_DIR ? '5' : t == TAR_SYMLINK ? '2' : '0';
}

static void put_block(struct buf *out, const struct tar_entry *e, char type, uint64_t size)
{
	uint64_t mtime = e->mtime_s > 0 ? (uint64_t)e->mtime_s : 0;
	char b[TAR_BLOCK] = "";
	unsigned sum = 0;

	(void)strncpy(b, e->name, 100);
	(void)snprintf(b + 100, 8, "%07o", e->mode & 0777);
	(void)snprintf(b + 108, 8, "%07o", 0);
	(void)snprintf(b + 116, 8, "%07o", 0);
	(void)snprintf(b + 124, 12, "%011llo", (unsigned long long)(size > USTAR_SIZE_MAX ? 0 : size));
	(void)snprintf(b + 136, 12, "%011llo", (unsigned long long)(mtime > USTAR_SIZE_MAX ? 0 : mtime));
	(void)memset(b + 148, ' ', 8);
	b[156] = type;
	if (e->type == TAR_SYMLINK)
		(void)strncpy(b + 157, e->target, 100);
	(void)memcpy(b + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(b); i++)
		sum += (unsigned char)b[i];
	(void)snprintf(b + 148, 8, "%06o", sum);
	b[155] = ' ';
	buf_put(out, b, sizeof(b));
}

int tar_put_entry(struct buf *out, const struct tar_entry *e)
{
	autobuf struct buf pax = BUF_INIT(4 * TAR_NAME_MAX);
	bool is_link = e->type == TAR_SYMLINK;
	char number[24];

	if (strlen(e->name) >= TAR_NAME_MAX || (is_link && strlen(e->target) >= TAR_NAME_MAX))
		return -ENAMETOOLONG;
	if (strlen(e->name) > 100)
		put_record(&pax, "path", e->name);
	if (is_link && strlen(e->target) > 100)
		put_record(&pax, "linkpath", e->target);
	if (e->type == TAR_FILE && e->size > USTAR_SIZE_MAX) {
		(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)e->size);
		put_record(&pax, "size", number);
	}
	if (pax.bad)
		return -ENOMEM;
	if (pax.n > 0) {
		put_block(out, &(struct tar_entry) { .type = TAR_OTHER, .name = "pax", .mode = 0644 }, 'x', pax.n);
		buf_str(out, buf_view(&pax));
		put_zeroes(out, tar_padding(pax.n));
	}
	put_block(out, e, type_char(e->type), e->type == TAR_FILE ? e->size : 0);
	return out->bad ? -ENOMEM : 0;
}
