/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/source_http: the child that speaks HTTP. It reads a struct source_want, and answers with a struct
 * source_answer and the bytes of the file. */
#pragma once

#include <stdint.h>

struct source_answer {
	int32_t no; /* errno value; 0: n bytes follow */
	uint32_t n;
	char text[192]; /* why not */
};

void source_http_run(int fd, const char *url) __attribute__((noreturn));
