/* SPDX-License-Identifier: Apache-2.0 */
/* target: what stands in a neighbour to be reached, and under which names. */
#pragma once

#define TARGET_TCP 7801
#define TARGET_UDP 7802
#define TARGET_NAME "escape-target" /* abstract socket, message queue, file in /dev/shm */
#define TARGET_KEY 0x45534341       /* System V objects */
#define TARGET_FILE "/usr/bin/env"  /* of the template: locked, and opened again and again */
#define TARGET_RANGE 987654321L     /* where its lock begins */

int reach_tcp(const char *address, unsigned port, int wait_ms);
int reach_udp(const char *address, unsigned port);
