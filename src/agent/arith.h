/* SPDX-License-Identifier: Apache-2.0 */
/* agent/arith: finds and evaluates arithmetic in a sentence. It has its own parser, because an interpreter could do
 * more than arithmetic. Does no I/O. */
#pragma once

#include "base/str.h"

#define ARITH_TEXT_MAX 4096
#define ARITH_RESULT_SIZE 64

/* 0: *ret_value is the result and *ret_expr the expression's place in the text. -ENOENT: the text has no expression
 * with an operator; -EDOM: the result is undefined, as in a division by zero; -ERANGE: the result is too large. */
int arith_find(struct str text, struct str *ret_expr, char ret_value[ARITH_RESULT_SIZE]);
