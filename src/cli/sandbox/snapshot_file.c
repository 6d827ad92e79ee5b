/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/snapshot_file: header, key and MAC of a snapshot file. */
#include "cli/sandbox/snapshot_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"

#define PIECE (1024 * 1024)

void snapshot_head_make(struct snapshot_head *ret, uint32_t meta_bytes, uint64_t disk_bytes, uint64_t memory_bytes)
{
	*ret = (struct snapshot_head) {
		.version = htole32(SNAPSHOT_VERSION),
		.meta_bytes = htole32(meta_bytes),
		.disk_bytes = htole64(disk_bytes),
		.memory_bytes = htole64(memory_bytes),
	};
	memcpy(ret->magic, SNAPSHOT_MAGIC, sizeof SNAPSHOT_MAGIC);
}

int snapshot_head_check(const void *p, size_t n, uint64_t file_bytes, struct snapshot_head *ret, struct err *e)
{
	static const uint8_t zero[sizeof ret->zero];
	struct snapshot_head h;

	if (n < sizeof h || memcmp(p, SNAPSHOT_MAGIC, sizeof SNAPSHOT_MAGIC) != 0)
		return err_set(e, EBADMSG, "not a snapshot of atoll");
	memcpy(&h, p, sizeof h);
	h.version = le32toh(h.version);
	h.meta_bytes = le32toh(h.meta_bytes);
	h.disk_bytes = le64toh(h.disk_bytes);
	h.memory_bytes = le64toh(h.memory_bytes);
	if (h.version > SNAPSHOT_VERSION)
		return err_set(e, EPROTO, "made by a newer atoll (format %u; this version supports %d)", h.version,
		    SNAPSHOT_VERSION);
	if (h.version == 0 || memcmp(h.zero, zero, sizeof zero) != 0 || h.meta_bytes == 0 ||
	    h.meta_bytes > SNAPSHOT_META_MAX || h.disk_bytes == 0)
		return err_set(e, EBADMSG, "the header is damaged");
	uint64_t rest = sizeof h + h.meta_bytes + SNAPSHOT_MAC_BYTES, streams;

	if (__builtin_add_overflow(h.disk_bytes, h.memory_bytes, &streams) || file_bytes < rest ||
	    file_bytes - rest != streams)
		return err_set(e, EBADMSG, "the file is truncated or damaged");
	*ret = h;
	return 0;
}

static int make_key(const char *file, uint8_t ret[SNAPSHOT_KEY_BYTES], struct err *e)
{
	autoclose int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || getrandom(ret, SNAPSHOT_KEY_BYTES, 0) != SNAPSHOT_KEY_BYTES ||
	    fd_write_all(fd, ret, SNAPSHOT_KEY_BYTES) < 0 || fsync(fd) < 0)
		return err_sys(e, "make '%s'", file);
	return 0;
}

int snapshot_key(const char *key_file, int may_make, uint8_t ret[SNAPSHOT_KEY_BYTES], struct err *e)
{
	uint8_t z[SNAPSHOT_KEY_BYTES + 1];
	autoclose int fd = open(key_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT && may_make)
		return make_key(key_file, ret, e);
	ssize_t n = fd < 0 ? -1 : read(fd, z, sizeof z);

	if (n < 0)
		return err_sys(e, "read the key '%s'", key_file);
	if (n != SNAPSHOT_KEY_BYTES)
		return err_set(e, EBADMSG, "'%s' is not a key: it must have %d bytes", key_file, SNAPSHOT_KEY_BYTES);
	memcpy(ret, z, SNAPSHOT_KEY_BYTES);
	return 0;
}

static int feed(EVP_MAC_CTX *ctx, int fd, uint64_t n, struct err *e)
{
	autofree char *piece = malloc(PIECE);

	if (!piece)
		return err_set(e, ENOMEM, "out of memory");
	for (uint64_t at = 0; at < n;) {
		ssize_t got = pread(fd, piece, n - at < PIECE ? (size_t)(n - at) : PIECE, (off_t)at);

		if (got <= 0)
			return err_set(e, got < 0 ? errno : EBADMSG, "read the file: %s",
			    got < 0 ? strerror(errno) : "the file shrank");
		if (EVP_MAC_update(ctx, (unsigned char *)piece, (size_t)got) != 1)
			return err_set(e, EIO, "compute the MAC");
		at += (uint64_t)got;
	}
	return 0;
}

int snapshot_mac(int fd, uint64_t n, const uint8_t key[SNAPSHOT_KEY_BYTES], uint8_t ret[SNAPSHOT_MAC_BYTES],
    struct err *e)
{
	char digest[] = "SHA256";
	OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", digest, 0), OSSL_PARAM_construct_end() };
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;
	size_t len = 0;

	if (!ctx || EVP_MAC_init(ctx, key, SNAPSHOT_KEY_BYTES, params) != 1)
		(void)err_set(e, ENOMEM, "compute the MAC");
	else if (feed(ctx, fd, n, e) == 0 &&
	    (EVP_MAC_final(ctx, ret, &len, SNAPSHOT_MAC_BYTES) != 1 || len != SNAPSHOT_MAC_BYTES))
		(void)err_set(e, EIO, "compute the MAC");
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(mac);
	return -e->no;
}
