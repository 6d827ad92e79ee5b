/* SPDX-License-Identifier: Apache-2.0 */
/* front: what the front says (ipc/rules.h): what is put into the requests of a sandbox, and by which proxy it goes
 * out. */
#pragma once

struct clients;
struct front;
struct loop;

struct front *front_new(struct loop *l, struct clients *cs); /* NULL: no memory */
void front_link(struct front *f, int fd); /* owned: the socket to the front of the day, in place of any other */
