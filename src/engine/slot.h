/* SPDX-License-Identifier: Apache-2.0 */
/* slot: computes user ids, addresses and names from an instance and a slot number.
 *
 * None of it is stored: a restarted warden, a firewall rule and a sandbox agree because they compute the same
 * values.
 *
 *	host uids of instance N	0x10000000 + N * 0x08000000, 0x08000000 of them: the user namespace Z has them all
 *	uids within Z		0: Z's root; 1 + k: owner of slot k's namespaces; (k + 1) * 65536: first of slot k's
 *				65536; after slot SLOT_MAX: those of the programs that serve volumes
 *	addresses		10.(200 + N).0.1: the gateway; .2: the server's own host names inside a sandbox
 *				(no interface has it); 10.(200 + N).0.0 + 256 + k: a sandbox */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define SLOT_INSTANCES 16
/* Of all instances: a process with a uid at or above this belongs to a sandbox, a zygote or a holder. */
#define SLOT_UID_FIRST 0x10000000u
#define SLOT_MAX 2000
#define SLOT_VOLUME_PLACES 40
#define SLOT_Z_UIDS 0x08000000u
#define SLOT_UIDS 65536u
#define SLOT_NAME_SIZE 16

struct slot {
	uint32_t instance, k;
	uid_t z_base;                /* on the host: uid 0 of Z */
	uid_t owner;                 /* in Z: the uid that the kernel charges this sandbox's per-user limits to */
	uid_t first;                 /* in Z: uid 0 of the sandbox */
	uid_t root;                  /* on the host: uid 0 of the sandbox */
	uint32_t ip, gateway, names; /* host byte order */
	uint8_t mac[6], host_mac[6]; /* of eth0 inside, and of the host's end */
	char veth[SLOT_NAME_SIZE];   /* name of the host's end */
};

/* On the host: uid 0 of a program that serves the files of a volume. These follow the uids of the last slot. */
uid_t slot_volume_root(uint32_t instance, uint32_t place);

void slot_fill(uint32_t instance, uint32_t k, struct slot *ret);
