/* SPDX-License-Identifier: Apache-2.0 */
/* front/auth: the local key file and the table of key hashes. */
#include "front/auth.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"
#include "front/mem.h"
#include "front/token.h"
#include "http/server.h"

#define KEY_PREFIX "e2b_"		/* some clients refuse keys of any other form */
#define KEY_DIGITS 40
#define KEY_TEXT_MAX 256
#define TEAM_NAME_SIZE 64

struct auth_key {
	uint8_t hash[KEY_HASH_SIZE];
	char team[TEAM_ID_SIZE];
	char team_name[TEAM_NAME_SIZE];
};

struct auth {
	struct auth_key *v;
	size_t n;
};

static int key_file_make(const char *path, struct err *e)
{
	char key[sizeof KEY_PREFIX + KEY_DIGITS + 1] = KEY_PREFIX;
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "create '%s'", path);
	rand_hex(key + strlen(KEY_PREFIX), KEY_DIGITS);
	(void)strcat(key, "\n");

	int r = fd_write_all(fd, key, strlen(key));

	return r < 0 ? err_set(e, -r, "write '%s': %s", path, strerror(-r)) : 0;
}

static int key_file_hash(const char *path, uint8_t ret[KEY_HASH_SIZE], struct err *e)
{
	char text[KEY_TEXT_MAX];
	ssize_t n = file_read(AT_FDCWD, path, text, sizeof text);

	if (n == -ENOENT) {
		if (key_file_make(path, e) < 0)
			return -e->no;
		n = file_read(AT_FDCWD, path, text, sizeof text);
	}
	if (n < 0)
		return err_set(e, (int)-n, "read '%s': %s", path, strerror((int)-n));
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	if (n == 0)
		return err_set(e, EINVAL, "key file '%s' is empty", path);
	sha256((struct str) { text, (size_t)n }, ret);
	explicit_bzero(text, sizeof text);
	return 0;
}

static int take_key(void *user, const struct key_row *row)
{
	struct auth *a = user;

	a->v = must_grow(a->v, (a->n + 1) * sizeof *a->v);

	struct auth_key *k = &a->v[a->n];

	memcpy(k->hash, row->hash, sizeof k->hash);
	if (!str_copy(k->team, sizeof k->team, str_of(row->team)))
		return 0;		/* not a team of ours */
	(void)str_copy(k->team_name, sizeof k->team_name, str_of(row->team_name));
	a->n++;
	return 0;
}

static void new_team_id(char id[TEAM_ID_SIZE])
{
	char h[33];

	rand_hex(h, 32);
	h[12] = '4';			/* a random UUID, as clients expect the form */
	h[16] = "89ab"[h[16] & 3];
	(void)snprintf(id, TEAM_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", h, h + 8, h + 12, h + 16, h + 20);
}

int auth_open(struct store *s, const char *key_file, struct auth **ret, struct err *e)
{
	char id[TEAM_ID_SIZE], team[TEAM_ID_SIZE];
	uint8_t hash[KEY_HASH_SIZE];

	new_team_id(id);
	if (key_file_hash(key_file, hash, e) < 0 || teams_default(s, id, team, e) < 0 || keys_put(s, team, "local", hash, e) < 0)
		return -e->no;

	struct auth *a = must_alloc(sizeof *a);

	if (keys_each(s, take_key, a, e) < 0) {
		auth_free(a);
		return -e->no;
	}
	*ret = a;
	return 0;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	free(a->v);
	free(a);
}

static struct str presented_key(const struct http_headers *h)
{
	struct str key = http_header_get(h, "x-api-key");

	if (key.n > 0)
		return key;

	struct str bearer = http_header_get(h, "authorization");
	struct str scheme = str_cut(&bearer, ' ');

	return str_ieq(scheme, STR_LIT("bearer")) && bearer.p ? str_trim(bearer) : STR_NULL;
}

int auth_check(const struct auth *a, const struct http_headers *h, char ret_team[TEAM_ID_SIZE], struct err *e)
{
	struct str key = presented_key(h);
	const struct auth_key *found = NULL;
	uint8_t hash[SHA256_SIZE];

	if (key.n == 0)
		return err_set(e, EACCES, "no API key: send it in the header X-API-Key");
	sha256(key, hash);
	for (size_t i = 0; i < a->n; i++) {
		if (secret_eq((struct str) { (const char *)a->v[i].hash, KEY_HASH_SIZE }, (struct str) { (const char *)hash, sizeof hash }))
			found = &a->v[i];	/* no early way out: the time tells nothing */
	}
	if (!found)
		return err_set(e, EACCES, "API key is not known here");
	memcpy(ret_team, found->team, TEAM_ID_SIZE);
	return 0;
}

const char *auth_team_name(const struct auth *a, const char *team)
{
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->v[i].team, team) == 0)
			return a->v[i].team_name;
	}
	return "";
}
