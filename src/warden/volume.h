/* SPDX-License-Identifier: Apache-2.0 */
/* volume: the requests about volumes. What takes time is done in a child; a child also becomes the program that serves
 * a volume's files over one connection, and lives as long as that. */
#pragma once

struct warden;

void warden_volumes_free(struct warden *w); /* ends those that serve */
