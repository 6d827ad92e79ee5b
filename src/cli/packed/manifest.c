/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/manifest: the text form of the manifest of a packed template. */
#include "cli/packed/manifest.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define FIRST "atoll-template 1"

void packed_done(struct packed *p)
{
	free(p->blocks);
	*p = (struct packed) { 0 };
}

const char *packed_arch(void)
{
	static struct utsname u;

	if (uname(&u) < 0)
		return "unknown";
	return strcmp(u.machine, "x86_64") == 0 ? "amd64" : strcmp(u.machine, "aarch64") == 0 ? "arm64" : u.machine;
}

void packed_hash(const void *p, size_t n, char ret[PACKED_HASH_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[EVP_MAX_MD_SIZE] = { 0 };

	(void)EVP_Digest(p, n, sum, NULL, EVP_sha256(), NULL);
	for (size_t i = 0; i < PACKED_HASH_LEN / 2; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[PACKED_HASH_LEN] = '\0';
}

void packed_write(const struct packed *p, struct buf *to)
{
	buf_fmt(to, FIRST "\nname %s\nkey %s\narch %s\nversion %s\nbytes %llu\n", p->name, p->key, p->arch, p->version,
	    (unsigned long long)p->plain);
	for (size_t i = 0; i < p->n_blocks; i++)
		buf_fmt(to, "block %s %u %u\n", p->blocks[i].hash, p->blocks[i].stored, p->blocks[i].plain);
}

static int damaged(struct err *e, const char *what)
{
	return err_set(e, EBADMSG, "the manifest of the template has no valid %s", what);
}

static bool only(struct str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!s.p[i] || !strchr(set, s.p[i]))
			return false;
	}
	return s.n > 0;
}

/* Takes the line "WORD VALUE" from the front of *rest. */
static int take_word(struct str *rest, const char *word, const char *set, char *to, size_t size, struct err *e)
{
	struct str value = rest->p ? str_cut(rest, '\n') : STR_NULL;
	struct str key = str_cut(&value, ' ');

	if (!rest->p || !str_is(key, word) || !value.p || !only(value, set) || !str_copy(to, size, value))
		return damaged(e, word);
	return 0;
}

/* Takes a number, which is written without leading zeros, from the front of *line. */
static bool take_number(struct str *line, uint64_t max, uint64_t *ret)
{
	struct str word = line->p ? str_cut(line, ' ') : STR_NULL;

	return word.n > 0 && (word.p[0] != '0' || word.n == 1) && str_to_u64(word, max, ret) == 0;
}

static int take_block(struct str *rest, struct packed_block *ret, struct err *e)
{
	struct str line = str_cut(rest, '\n');
	struct str word = str_cut(&line, ' '), hash = line.p ? str_cut(&line, ' ') : STR_NULL;
	uint64_t stored, plain;

	if (!rest->p || !str_is(word, "block") || hash.n != PACKED_HASH_LEN || !only(hash, "0123456789abcdef") ||
	    !take_number(&line, PACKED_STORED_MAX, &stored) || !take_number(&line, PACKED_BLOCK_MAX, &plain) ||
	    line.p || stored == 0 || plain == 0)
		return damaged(e, "block");
	(void)str_copy(ret->hash, sizeof ret->hash, hash);
	ret->stored = (uint32_t)stored;
	ret->plain = (uint32_t)plain;
	return 0;
}

static int take_blocks(struct str rest, struct packed *p, struct err *e)
{
	size_t lines = 0;
	uint64_t plain = 0;

	for (size_t i = 0; i < rest.n; i++)
		lines += rest.p[i] == '\n';
	if (lines == 0 || lines > PACKED_BLOCKS_MAX || rest.p[rest.n - 1] != '\n')
		return damaged(e, "block");
	p->blocks = calloc(lines, sizeof *p->blocks);
	if (!p->blocks)
		return err_set(e, ENOMEM, "out of memory");
	for (; p->n_blocks < lines; p->n_blocks++) {
		if (take_block(&rest, &p->blocks[p->n_blocks], e) < 0)
			return -e->no;
		plain += p->blocks[p->n_blocks].plain;
	}
	return plain == p->plain ? 0 : damaged(e, "bytes");
}

#define SMALL "abcdefghijklmnopqrstuvwxyz0123456789"

int packed_parse(struct str text, struct packed *ret, struct err *e)
{
	autopacked struct packed p = { 0 };
	struct str rest = text;
	char bytes[24];

	if (text.n > PACKED_MANIFEST_MAX || !str_is(str_cut(&rest, '\n'), FIRST))
		return err_set(e, EPROTO, "this is no template that atoll %s can read", ATOLL_VERSION);
	if (take_word(&rest, "name", SMALL "-", p.name, sizeof p.name, e) < 0 ||
	    take_word(&rest, "key", "0123456789abcdef", p.key, sizeof p.key, e) < 0 ||
	    take_word(&rest, "arch", SMALL "_", p.arch, sizeof p.arch, e) < 0 ||
	    take_word(&rest, "version", SMALL ".+~-", p.version, sizeof p.version, e) < 0 ||
	    take_word(&rest, "bytes", "0123456789", bytes, sizeof bytes, e) < 0)
		return -e->no;
	struct str number = str_of(bytes);

	if (strlen(p.key) != sizeof p.key - 1)
		return damaged(e, "key");
	if (!take_number(&number, (uint64_t)PACKED_BLOCKS_MAX * PACKED_BLOCK_MAX, &p.plain))
		return damaged(e, "bytes");
	if (take_blocks(rest, &p, e) < 0)
		return -e->no;
	*ret = p;
	p = (struct packed) { 0 };
	return 0;
}
