/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/conffile: reads single settings of the server's configuration file; atolld parses and checks all of them. */
#pragma once

#include <stdint.h>

#define CONFIG_DEFAULT "/etc/atoll/atoll.conf"

char *conffile_get(const char *path, const char *key);                       /* NULL if unset; the caller frees it */
uint64_t conffile_number(const char *path, const char *key, uint64_t unset); /* path may be NULL */
