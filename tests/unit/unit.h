/* SPDX-License-Identifier: Apache-2.0 */
/* unit: cmocka, behind the headers that it needs before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
