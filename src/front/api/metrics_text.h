/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/metrics_text: the metrics of the front in the Prometheus text format. */
#pragma once

struct buf;
struct front;

void metrics_put(const struct front *f, struct buf *out);
