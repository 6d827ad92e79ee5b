/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/mock: a simulated server within this process, for tests of programs that use the library.
 *
 * Calls go through libcurl as usual, over a socket that threads of the mock serve. It stores files, changes and
 * contexts like a server. Code and commands are only simulated: see eval.c and command.c for what it understands. For
 * anything else it returns an error. Its state is freed with its struct atoll.
 *
 * It is a library of its own, libatoll-mock, which libatoll loads when a mock is asked for (client/mock_load.c). */
#pragma once

#include <curl/curl.h>

struct mock;

#define MOCK_URL "http://127.0.0.1:1" /* never connected to */

struct mock_ops {
	size_t size;                  /* of this struct */
	struct mock *(*new)(void);    /* NULL if memory runs out */
	void (*free)(struct mock *m); /* after all handles that use it are freed; NULL is allowed */
	void (*setup_handle)(struct mock *m, CURL *h);
};

extern const struct mock_ops atoll_mock; /* the only name that libatoll-mock exports */
