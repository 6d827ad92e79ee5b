/* SPDX-License-Identifier: Apache-2.0 */
/* slot: computes user ids, addresses and names from an instance and a slot number.
 *
 * All but the areas follows from these two numbers: a restarted warden, a firewall rule and a sandbox agree because
 * they compute the same values.
 *
 *	host uids of instance N	0x10000000 + N * 0x08000000, 0x08000000 of them: the home of the instance
 *	host uids of area A	0x90000000 + A * 0x08000000, 0x08000000 of them, for slots from SLOT_HOME on. The
 *				servers of a machine share the areas (warden/registry.h)
 *	uids within Z		0: Z's root; 1 + k: owner of slot k's namespaces; (k + 1) * 65536: first of slot k's
 *				65536; after slot SLOT_HOME: those of the programs that serve volumes;
 *				(1 + a) * 0x08000000: the instance's area a, 2048 slots of 65536
 *	addresses		10.(200 + N).0.1: the gateway; .2: the server's own host names inside a sandbox
 *				(no interface has it); 10.(200 + N).0.0 + 256 + k: a sandbox */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/userns.h"

#define SLOT_INSTANCES 16
/* Of all instances: a process with a uid at or above this belongs to a sandbox, a zygote or a holder. */
#define SLOT_UID_FIRST 0x10000000u
#define SLOT_HOME 2000     /* slots with uids in the home of the instance */
#define SLOT_AREAS 13      /* of the machine */
#define SLOT_AREAS_EACH 6  /* the most that one instance has */
#define SLOT_OF_AREA 2048u /* slots per area */
#define SLOT_MAX (SLOT_HOME + SLOT_AREAS_EACH * 2048)
#define SLOT_MAPS (1 + SLOT_AREAS_EACH)
#define SLOT_VOLUME_PLACES 40
#define SLOT_Z_UIDS 0x08000000u
#define SLOT_UIDS 65536u
#define SLOT_NAME_SIZE 16

struct slot {
	uint32_t instance, k;
	uid_t z_base;                /* on the host: uid 0 of Z */
	uid_t owner;                 /* in Z: the uid that the kernel charges this sandbox's per-user limits to */
	uid_t first;                 /* in Z: uid 0 of the sandbox */
	uid_t root;                  /* on the host: uid 0 of the sandbox; 0: the slot is in no area of this server */
	uint32_t ip, gateway, names; /* host byte order */
	uint8_t mac[6], host_mac[6]; /* of eth0 inside, and of the host's end */
	char veth[SLOT_NAME_SIZE];   /* name of the host's end */
};

/* Sets the areas of this server, in their order, for all later calls in this process and its children. Without
 * them, only the first SLOT_HOME slots have uids. */
void slot_areas_use(const uint32_t *areas, size_t n);
uint32_t slot_usable(void); /* the number of slots that have uids */

/* The uid map of Z; returns the number of its entries. */
size_t slot_maps(uint32_t instance, struct id_map ret[SLOT_MAPS]);

/* The slot that a uid of the host belongs to; SLOT_MAX: none of this server. */
uint32_t slot_of_uid(uint32_t instance, uid_t uid);

/* On the host: uid 0 of a program that serves the files of a volume. These follow the uids of the last slot of the
 * home. */
uid_t slot_volume_root(uint32_t instance, uint32_t place);

void slot_fill(uint32_t instance, uint32_t k, struct slot *ret);
