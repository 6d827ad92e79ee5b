/* SPDX-License-Identifier: Apache-2.0 */
/* users: the accounts of the sandbox, parsed from its /etc/passwd and /etc/group.
 *
 * The libc functions are never used: in a static program they would load the sandbox's own NSS libraries into pid
 * 1. The files belong to the sandbox, so neither their size nor their lines are trusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

#define USER_NAME_SIZE 64
#define USER_HOME_SIZE 1024
#define USER_GROUPS_MAX 256

struct userdb { /* the text of both files; views into it live as long as the db */
	char *passwd, *group;
	size_t n_passwd, n_group;
};

struct user {
	char name[USER_NAME_SIZE];
	char home[USER_HOME_SIZE];
	char shell[USER_HOME_SIZE];
	uid_t uid;
	gid_t gid;
};

void userdb_load(struct userdb *ret); /* a missing, too large or non-regular file counts as empty */
void userdb_done(struct userdb *db);

/* 0 or -ENOENT. Malformed lines are skipped. */
int userdb_find(const struct userdb *db, struct str name, struct user *ret);
bool userdb_uid_name(const struct userdb *db, uid_t uid, struct str *ret);
bool userdb_gid_name(const struct userdb *db, gid_t gid, struct str *ret);

/* The user's own group first, then each group that lists it; at most max. Returns how many. */
size_t userdb_groups(const struct userdb *db, const struct user *u, gid_t *ret, size_t max);

#define autousers __attribute__((cleanup(userdb_done)))
