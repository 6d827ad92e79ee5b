/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/metrics_text: what the front counts about itself, as Prometheus reads it. */
#pragma once

struct buf;
struct front;

void metrics_put(const struct front *f, struct buf *out);
