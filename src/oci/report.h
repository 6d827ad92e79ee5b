/* SPDX-License-Identifier: Apache-2.0 */
/* oci/report: lines of JSON for whoever waits for an image, see docs/images.md. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "oci/digest.h"

/* By the fetcher, which knows JSON. */
void report_resolved(int fd, const struct digest *manifest, uint32_t layers, uint64_t bytes);
void report_config(int fd, json_t *config);

/* By the keeper. */
void report_progress(int fd, const char *phase, uint32_t layer, uint32_t layers, uint64_t done, uint64_t total);
void report_done(int fd, const char *key, bool cached);
void report_error(int fd, const struct err *e);
