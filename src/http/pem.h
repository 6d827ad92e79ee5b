/* SPDX-License-Identifier: Apache-2.0 */
/* http/pem: certificates as text. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

bool pem_has_certificate(struct str pem); /* one at least; what else is in it does no harm */
