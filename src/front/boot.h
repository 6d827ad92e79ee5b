/* SPDX-License-Identifier: Apache-2.0 */
/* front/boot: from the connection to the warden until the front serves.
 *
 *	HELLO -> templates, limits -> LIST -> compare with the store -> confine -> serve
 *
 * The warden knows which sandboxes exist, the store knows whose they are. A sandbox that is only in the store has
 * ended. One that only the warden has, or whose creation was never confirmed to a client, is killed. */
#pragma once

struct boot;
struct front;
struct msg_exited;

void boot_begin(struct front *f);
void boot_exited(struct front *f, const struct msg_exited *m); /* while f->boot is set */
void boot_free(struct boot *b);                                /* NULL is fine */
