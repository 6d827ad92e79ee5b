/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/sign: ed25519 signatures. */
#include "cli/packed/sign.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fd.h"

static EVP_PKEY *read_key(int dirfd, const char *name, bool private_key)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	EVP_PKEY *key = NULL;

	if (!f) {
		fd_close(fd);
		return NULL;
	}
	key = private_key ? PEM_read_PrivateKey(f, NULL, NULL, NULL) : PEM_read_PUBKEY(f, NULL, NULL, NULL);
	(void)fclose(f);
	if (key && EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	return key;
}

int sign_text(const char *private_key_file, struct str text, unsigned char ret[SIGNATURE_BYTES], struct err *e)
{
	EVP_PKEY *key = read_key(AT_FDCWD, private_key_file, true);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = SIGNATURE_BYTES;

	if (!key)
		(void)err_set(e, EINVAL,
		    "'%s' has no ed25519 key in PEM format (openssl genpkey -algorithm ed25519 makes one)",
		    private_key_file);
	else if (!ctx || EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) <= 0 ||
	    EVP_DigestSign(ctx, ret, &n, (const unsigned char *)text.p, text.n) <= 0 || n != SIGNATURE_BYTES)
		(void)err_set(e, EIO, "sign with '%s'", private_key_file);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return -e->no;
}

/* 1: the key has made the signature. 0: not. -1: no key in the file. */
static int try_key(int dirfd, const char *name, struct str text, struct str signature)
{
	EVP_PKEY *key = read_key(dirfd, name, false);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int ok = key ? 0 : -1;

	if (key && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) > 0)
		ok = EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n,
			 (const unsigned char *)text.p, text.n) == 1;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return ok;
}

static int try_keys(const char *dir, struct str text, struct str signature)
{
	DIR *d = opendir(dir);
	int best = -1;

	for (struct dirent *one; d && best < 1 && (one = readdir(d));) {
		int ok = str_ends(str_of(one->d_name), ".pem") ? try_key(dirfd(d), one->d_name, text, signature) : -1;

		best = ok > best ? ok : best;
	}
	if (d)
		(void)closedir(d);
	return best;
}

int sign_verify(const char *keys, struct str text, struct str signature, struct err *e)
{
	struct stat st;
	bool is_dir = stat(keys, &st) < 0 || S_ISDIR(st.st_mode);
	int ok = is_dir ? try_keys(keys, text, signature) : try_key(AT_FDCWD, keys, text, signature);

	if (ok < 0)
		return err_set(e, ENOKEY, "'%s' has no public ed25519 key%s, so no template can be trusted", keys,
		    is_dir ? " (*.pem)" : " in PEM format");
	return ok == 1 && signature.n == SIGNATURE_BYTES
	    ? 0
	    : err_set(e, EKEYREJECTED, "wrong signature: it is not by a key of '%s'", keys);
}
