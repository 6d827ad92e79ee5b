/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/uploads: uploads of files for builds. */
#pragma once

struct api;

void uploads_tick(struct api *a); /* ends uploads that have stalled */
