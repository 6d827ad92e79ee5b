/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/template_file: exports a template to one file: a compressed archive of its root directory, which
 * `atoll template import` and other tools can read. /etc/atoll/template.json in it contains the template's variables,
 * user, directory and commands. Its memory is not included. */
#pragma once

#include "client/atoll.h"

int template_export(struct atoll *a, const char *name, const char *file); /* returns the exit status */
