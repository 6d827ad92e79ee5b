/* SPDX-License-Identifier: Apache-2.0 */
/* webhooks/confine: what atoll-webhooks gives up before its first job. */
#pragma once

#include "base/err.h"

int webhooks_confine(struct err *e);
