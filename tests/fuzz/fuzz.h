/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target is. It must return 0, leak nothing, and abort when a property does not hold. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of targets whose inputs belong to one version of the program and would be refused at the head by the next: they are
 * made, not stored. Writes the i-th to p, which has room for FUZZ_INPUT_MAX bytes; returns its length, 0 when there are
 * no more. */
#define FUZZ_INPUT_MAX 65536
size_t fuzz_seed(size_t i, uint8_t *p) __attribute__((weak));

#define MUST(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #x); \
			abort(); \
		} \
	} while (0)
