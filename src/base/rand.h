/* SPDX-License-Identifier: Apache-2.0 */
/* rand: random bytes from the kernel, and identifiers made of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *p, size_t n);       /* aborts if the kernel has none: nothing safe could follow */
uint64_t rand_id(void);                   /* unique, but no secret: a stock of them is kept in memory */
void rand_hex(char *z, size_t n_digits);  /* n_digits lower-case hex digits and a NUL */
void rand_label(char *z, size_t n_chars); /* n_chars of [a-z0-9], unbiased, and a NUL */
