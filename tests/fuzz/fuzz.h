/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target is. It must return 0, leak nothing, and abort when a property does not hold. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                            \
	do {                                                                               \
		if (!(x)) {                                                                \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                           \
		}                                                                          \
	} while (0)
