/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/vault: 12 bytes of nonce, the ciphertext, 16 bytes of tag. */
#include "front/util/vault.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/fd.h"
#include "base/rand.h"

#define KEY_FILE "secrets.key"
#define KEY_SIZE 32
#define NONCE_SIZE 12 /* random: safe for 2^32 seals with one key */
#define TAG_SIZE 16

struct vault {
	uint8_t key[KEY_SIZE];  /* for sealing */
	uint8_t root[KEY_SIZE]; /* for deriving */
};

static void hmac(const uint8_t key[KEY_SIZE], struct str text, uint8_t ret[KEY_SIZE])
{
	unsigned n = KEY_SIZE;

	if (!HMAC(EVP_sha256(), key, KEY_SIZE, (const unsigned char *)text.p, text.n, ret, &n))
		abort();
}

/* Written atomically: a crash must not leave a truncated key file. */
static int make_key(int dir, uint8_t ret[KEY_SIZE], struct err *e)
{
	autoclose int fd = openat(dir, KEY_FILE ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	rand_bytes(ret, KEY_SIZE);
	if (fd < 0)
		return err_sys(e, "make '" KEY_FILE "'");
	int r = fd_write_all(fd, ret, KEY_SIZE);

	if (r < 0 || fsync(fd) < 0 || linkat(dir, KEY_FILE ".new", dir, KEY_FILE, 0) < 0) {
		errno = r < 0 ? -r : errno;
		return err_sys(e, "write '" KEY_FILE "'");
	}
	(void)unlinkat(dir, KEY_FILE ".new", 0);
	(void)fsync(dir);
	return 0;
}

static int read_key(int dir, uint8_t ret[KEY_SIZE], struct err *e)
{
	autoclose int fd = openat(dir, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return make_key(dir, ret, e);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '" KEY_FILE "'");
	if (!S_ISREG(st.st_mode) || st.st_size != KEY_SIZE || (st.st_mode & 077))
		return err_set(e, EINVAL,
		    "'" KEY_FILE "' in the state directory is not a key of %d bytes for its owner alone", KEY_SIZE);
	int r = fd_read_all(fd, ret, KEY_SIZE);

	return r < 0 ? err_set(e, -r, "read '" KEY_FILE "': %s", strerror(-r)) : 0;
}

int vault_open(const char *dir, struct vault **ret, struct err *e)
{
	autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t key[KEY_SIZE];
	struct vault *v;

	if (fd < 0)
		return err_sys(e, "open the state directory");
	if (read_key(fd, key, e) < 0)
		return -e->no;
	v = calloc(1, sizeof *v);
	if (!v)
		return err_set(e, ENOMEM, "out of memory");
	hmac(key, STR_LIT("seal"), v->key);
	hmac(key, STR_LIT("derive"), v->root);
	explicit_bzero(key, sizeof key);
	*ret = v;
	return 0;
}

void vault_free(struct vault *v)
{
	if (v)
		explicit_bzero(v, sizeof *v);
	free(v);
}

/* tag: output when sealing, else input. */
static bool run(const struct vault *v, bool seal, const uint8_t *nonce, struct str label, struct str in, uint8_t *out,
    uint8_t *tag)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n = 0, rest = 0;
	bool well = c && in.n < INT32_MAX && label.n < INT32_MAX &&
	    EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, v->key, nonce, seal) &&
	    EVP_CipherUpdate(c, NULL, &n, (const uint8_t *)label.p, (int)label.n) &&
	    EVP_CipherUpdate(c, out, &n, (const uint8_t *)in.p, (int)in.n);

	if (well && !seal)
		well = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, tag);
	well = well && EVP_CipherFinal_ex(c, out + n, &rest) > 0 && (size_t)(n + rest) == in.n;
	if (well && seal)
		well = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, tag);
	EVP_CIPHER_CTX_free(c);
	return well;
}

void vault_seal(const struct vault *v, struct str label, struct str text, struct buf *out)
{
	uint8_t *p = (uint8_t *)buf_room(out, NONCE_SIZE + text.n + TAG_SIZE);

	if (!p)
		return;
	rand_bytes(p, NONCE_SIZE);
	if (run(v, true, p, label, text, p + NONCE_SIZE, p + NONCE_SIZE + text.n))
		out->n += NONCE_SIZE + text.n + TAG_SIZE;
	else
		out->bad = true;
}

int vault_unseal(const struct vault *v, struct str label, struct str sealed, struct buf *out)
{
	if (sealed.n < NONCE_SIZE + TAG_SIZE)
		return -EBADMSG;
	struct str body = { sealed.p + NONCE_SIZE, sealed.n - NONCE_SIZE - TAG_SIZE };
	uint8_t tag[TAG_SIZE];
	char *p = buf_room(out, body.n + 1);

	if (!p)
		return -ENOMEM;
	memcpy(tag, body.p + body.n, sizeof tag);
	if (!run(v, false, (const uint8_t *)sealed.p, label, body, (uint8_t *)p, tag)) {
		explicit_bzero(p, body.n);
		return -EBADMSG;
	}
	out->n += body.n;
	return 0;
}

void vault_derive(const struct vault *v, struct str label, uint8_t ret[VAULT_SEED_SIZE])
{
	hmac(v->root, label, ret);
}
