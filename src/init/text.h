/* SPDX-License-Identifier: Apache-2.0 */
/* text: building blocks of API answers: JSON strings from arbitrary bytes, errno texts, times, file modes. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "base/str.h"

/* File names are bytes, JSON is Unicode: invalid UTF-8 becomes U+FFFD. */
json_t *text_json(struct str s);

const char *text_errno(int no); /* "no such file or directory"; valid until the next call */

#define TEXT_TIME_SIZE 40
void text_time(struct timespec ts, char out[TEXT_TIME_SIZE]); /* "2026-01-02T03:04:05.000000006Z" */

/* As Go writes a file mode: "-rw-r--r--", "drwxr-xr-x", "dtrwxrwxrwx", "Lrwxrwxrwx", "urwxr-xr-x". */
#define TEXT_MODE_SIZE 20
void text_mode(mode_t mode, char out[TEXT_MODE_SIZE]);

/* "exit status 3", "signal: killed", "signal: segmentation fault (core dumped)". */
#define TEXT_STATUS_SIZE 64
void text_status(int wait_status, char out[TEXT_STATUS_SIZE]);
