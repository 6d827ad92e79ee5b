/* SPDX-License-Identifier: Apache-2.0 */
/* agent/arith: sums in a sentence: found and worked out by a parser, not by a language that could do more. No I/O. */
#pragma once

#include "base/str.h"

#define ARITH_TEXT_MAX 4096
#define ARITH_RESULT_SIZE 64

/* 0: *ret_value is the result of the expression, and *ret_expr where it stands in the text. -ENOENT: there is none in
 * it that has an operator; -EDOM: it has no result, such as a division by zero; -ERANGE: one too large. */
int arith_find(struct str text, struct str *ret_expr, char ret_value[ARITH_RESULT_SIZE]);
