/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/tags: the tag of a template in a request. */
#pragma once

#include "base/str.h"
#include "store/templates.h"

int tag_parse(struct str text, char ret[TPL_TAG_SIZE]); /* in lower case; -EINVAL */
