/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/template_file: a template as one file: a compressed archive of its root directory, which `atoll template
 * import` and any other tool can read. Its variables, user, directory and commands are in there, in
 * /etc/atoll/template.json; its memory is not. */
#pragma once

#include "client/atoll.h"

int template_export(struct atoll *a, const char *name, const char *file); /* the exit status */
