/* SPDX-License-Identifier: Apache-2.0 */
/* front: the front's messages (ipc/rules.h): the header fields to set in requests of a sandbox, and its proxy. */
#pragma once

struct clients;
struct front;
struct loop;

struct front *front_new(struct loop *l, struct clients *cs); /* NULL: out of memory */
void front_link(struct front *f, int fd); /* owns fd, the socket to the current front; replaces an earlier one */
