/* SPDX-License-Identifier: Apache-2.0 */
/* slot: computes user ids, addresses and names from an instance and a slot number. */
#include "engine/slot.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define Z_UID_BASE SLOT_UID_FIRST
#define NET_BASE 0x0ac80000u /* 10.200.0.0 */
#define NET_FIRST 256u       /* the first 256 addresses are the instance's own */

void slot_fill(uint32_t instance, uint32_t k, struct slot *ret)
{
	assert(instance < SLOT_INSTANCES && k < SLOT_MAX);
	uint32_t net = NET_BASE + (instance << 16);
	/* 02: locally administered, unicast; then the slot, so that a packet dump can be read. */
	uint8_t mac[6] = { 0x02, 0xa7, (uint8_t)instance, 0x01, (uint8_t)(k >> 8), (uint8_t)k };

	*ret = (struct slot) {
		.instance = instance,
		.k = k,
		.z_base = Z_UID_BASE + instance * SLOT_Z_UIDS,
		.owner = 1 + k,
		.first = (k + 1) * SLOT_UIDS,
		.ip = net + NET_FIRST + k,
		.gateway = net + 1,
		.names = net + 2,
	};
	ret->root = ret->z_base + ret->first;
	memcpy(ret->mac, mac, sizeof mac);
	memcpy(ret->host_mac, mac, sizeof mac);
	ret->host_mac[3] = 0x00;
	(void)snprintf(ret->veth, sizeof ret->veth, "at%us%u", instance, k);
}

uid_t slot_volume_root(uint32_t instance, uint32_t place)
{
	assert(instance < SLOT_INSTANCES && place < SLOT_VOLUME_PLACES);
	return Z_UID_BASE + instance * SLOT_Z_UIDS + (SLOT_MAX + 1 + place) * SLOT_UIDS;
}
