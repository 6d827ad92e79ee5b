/* SPDX-License-Identifier: Apache-2.0 */
/* http/pem: PEM certificates. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

bool pem_has_certificate(struct str pem); /* at least one; other content is ignored */
