/* SPDX-License-Identifier: Apache-2.0 */
/* volume: the requests about volumes. Slow work is done in a child. A child also becomes the program that serves
 * a volume's files over one connection, and exits with that connection. */
#pragma once

struct warden;

void warden_volumes_free(struct warden *w); /* kills the programs that serve volumes */
