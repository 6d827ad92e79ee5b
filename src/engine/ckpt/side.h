/* SPDX-License-Identifier: Apache-2.0 */
/* side: a function that runs in a child process, because it joins a namespace. */
#pragma once

#include "base/err.h"

typedef int side_fn(const void *arg, int number, struct err *e);

int side_run(side_fn *fn, const void *arg, int number, struct err *e); /* returns what fn has returned */
