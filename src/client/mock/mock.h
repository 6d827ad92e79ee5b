/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/mock: a server that is not one: it lives in this process, for tests of programs that use the library.
 *
 * Calls go through libcurl as always, over a socket in memory that threads of the mock read. It keeps files, changes
 * and contexts as a server does; code and commands it only pretends to run: see code.c and command.c for what
 * it understands. What it does not understand it says so. It is forgotten with its struct atoll. */
#pragma once

#include <curl/curl.h>

struct mock;

#define MOCK_URL "http://127.0.0.1:1" /* nobody connects to it */

struct mock *mock_new(void);    /* NULL: no memory */
void mock_free(struct mock *m); /* after all handles that use it */
void mock_setup_handle(struct mock *m, CURL *h);
