/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a file of its own, for the cases of the program that includes this. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "store/db.h"

static char path[64];
static struct store *s;
static struct err e;

static int open_new(void **state)
{
	(void)state;
	strcpy(path, "/tmp/atoll-store-XXXXXX");
	int fd = mkstemp(path);

	if (fd < 0)
		return -1;
	(void)close(fd);
	return store_open(path, &s, &e);
}

static int remove_it(void **state)
{
	static const char *const sides[] = { "-wal", "-shm" };
	char side[sizeof path + 4];

	(void)state;
	store_close(s);
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(side, sizeof side, "%s%s", path, sides[i]);
		(void)unlink(side);
	}
	return unlink(path);
}
