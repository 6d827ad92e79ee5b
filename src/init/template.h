/* SPDX-License-Identifier: Apache-2.0 */
/* template: what a template that somebody has built tells its sandboxes:
 * {"env":{},"user":"","workdir":"","startCmd":"","readyCmd":""} in a file on its disk, so that it goes wherever the
 * disk goes. */
#pragma once

#include <jansson.h>

#define TEMPLATE_FILE "/etc/atoll/template.json"

json_t *template_read(void); /* a new object; empty when there is none, or when it is not what it should be */
