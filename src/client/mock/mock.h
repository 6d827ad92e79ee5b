/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/mock: a simulated server within this process, for tests of programs that use the library.
 *
 * Calls go through libcurl as usual, over a socket that threads of the mock serve. It stores files, changes and
 * contexts like a server. Code and commands are only simulated: see eval.c and command.c for what it understands. For
 * anything else it returns an error. Its state is freed with its struct atoll. */
#pragma once

#include <curl/curl.h>

struct mock;

#define MOCK_URL "http://127.0.0.1:1" /* never connected to */

struct mock *mock_new(void);    /* NULL if memory runs out */
void mock_free(struct mock *m); /* after all handles that use it are freed */
void mock_setup_handle(struct mock *m, CURL *h);
