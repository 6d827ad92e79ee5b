/* SPDX-License-Identifier: Apache-2.0 */
/* template: the settings that a built template gives its sandboxes:
 * {"env":{},"user":"","workdir":"","startCmd":"","readyCmd":""} in a file on its disk, so that they are copied
 * with the disk. */
#pragma once

#include <jansson.h>

#define TEMPLATE_FILE "/etc/atoll/template.json"

json_t *template_read(void); /* a new object; empty when the file is missing or malformed */
