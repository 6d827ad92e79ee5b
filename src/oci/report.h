/* SPDX-License-Identifier: Apache-2.0 */
/* oci/report: progress of a pull as lines of JSON, see docs/images.md. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "oci/digest.h"

/* Called by the fetcher, which may parse JSON. */
void report_resolved(int fd, const struct digest *manifest, uint32_t layers, uint64_t bytes);
void report_config(int fd, json_t *config);

/* Called by the keeper. */
void report_progress(int fd, const char *phase, uint32_t layer, uint32_t layers, uint64_t done, uint64_t total);
void report_done(int fd, const char *key, bool cached);
void report_error(int fd, const struct err *e);
