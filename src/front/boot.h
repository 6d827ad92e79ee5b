/* SPDX-License-Identifier: Apache-2.0 */
/* front/boot: from a connected warden to an open door.
 *
 *	HELLO -> templates, limits -> LIST -> compare with the store -> confine -> serve
 *
 * The warden knows what exists, the store knows what it is for. A sandbox that only the store knows has ended; one
 * that only the warden knows, or whose creation nobody was told of, is killed. */
#pragma once

struct boot;
struct front;
struct msg_exited;

void boot_begin(struct front *f);
void boot_exited(struct front *f, const struct msg_exited *m); /* while f->boot is set */
void boot_free(struct boot *b);                                /* NULL is fine */
