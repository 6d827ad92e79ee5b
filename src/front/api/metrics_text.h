/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/metrics_text: the metrics of the front in the Prometheus text format. */
#pragma once

struct buf;
struct api;

void metrics_put(const struct api *a, struct buf *out);
