/* SPDX-License-Identifier: Apache-2.0 */
/* slot: computes user ids, addresses and names from an instance and a slot number. */
#include "engine/slot.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define Z_UID_BASE SLOT_UID_FIRST
#define AREA_UID_BASE (Z_UID_BASE + SLOT_INSTANCES * SLOT_Z_UIDS)
#define NET_BASE 0x0ac80000u /* 10.200.0.0 */
#define NET_FIRST 256u       /* the first 256 addresses are the instance's own */

_Static_assert((uint64_t)AREA_UID_BASE + (uint64_t)SLOT_AREAS * SLOT_Z_UIDS < UINT32_MAX, "uid -1 is in no area");
_Static_assert(SLOT_OF_AREA *SLOT_UIDS == SLOT_Z_UIDS, "an area is full of slots");
_Static_assert((SLOT_HOME + 1 + SLOT_VOLUME_PLACES) * SLOT_UIDS <= SLOT_Z_UIDS, "the home has room for all");
_Static_assert(1 + SLOT_MAX < SLOT_UIDS, "owners are among the first uids of Z");
_Static_assert(NET_FIRST + SLOT_MAX < 65535, "each slot has an address");
_Static_assert(SLOT_OF_AREA *SLOT_AREAS_EACH + SLOT_HOME == SLOT_MAX, "SLOT_MAX counts them all");

static uint32_t own_areas[SLOT_AREAS_EACH];
static size_t n_own_areas;

void slot_areas_use(const uint32_t *areas, size_t n)
{
	assert(n <= SLOT_AREAS_EACH);
	for (size_t i = 0; i < n; i++) {
		assert(areas[i] < SLOT_AREAS);
		own_areas[i] = areas[i];
	}
	n_own_areas = n;
}

uint32_t slot_usable(void)
{
	return SLOT_HOME + (uint32_t)n_own_areas * SLOT_OF_AREA;
}

static uid_t z_base_of(uint32_t instance)
{
	return Z_UID_BASE + instance * SLOT_Z_UIDS;
}

static uid_t base_of_area(size_t a)
{
	return AREA_UID_BASE + own_areas[a] * SLOT_Z_UIDS;
}

size_t slot_maps(uint32_t instance, struct id_map ret[SLOT_MAPS])
{
	ret[0] = (struct id_map) { 0, z_base_of(instance), SLOT_Z_UIDS };
	for (size_t a = 0; a < n_own_areas; a++)
		ret[1 + a] = (struct id_map) { (uint32_t)(1 + a) * SLOT_Z_UIDS, base_of_area(a), SLOT_Z_UIDS };
	return 1 + n_own_areas;
}

uint32_t slot_of_uid(uint32_t instance, uid_t uid)
{
	uid_t home = z_base_of(instance);

	if (uid >= home && uid - home < (SLOT_HOME + 1) * SLOT_UIDS)
		return uid - home < SLOT_UIDS ? SLOT_MAX : (uid - home) / SLOT_UIDS - 1;
	for (size_t a = 0; a < n_own_areas; a++) {
		if (uid >= base_of_area(a) && uid - base_of_area(a) < SLOT_Z_UIDS)
			return SLOT_HOME + (uint32_t)a * SLOT_OF_AREA + (uid - base_of_area(a)) / SLOT_UIDS;
	}
	return SLOT_MAX;
}

static void fill_uids(struct slot *s)
{
	uint32_t a = s->k < SLOT_HOME ? 0 : (s->k - SLOT_HOME) / SLOT_OF_AREA;
	uint32_t within = s->k < SLOT_HOME ? s->k + 1 : (s->k - SLOT_HOME) % SLOT_OF_AREA;

	s->z_base = z_base_of(s->instance);
	s->owner = 1 + s->k;
	s->first = within * SLOT_UIDS + (s->k < SLOT_HOME ? 0 : (1 + a) * SLOT_Z_UIDS);
	if (s->k < SLOT_HOME)
		s->root = s->z_base + s->first;
	else
		s->root = a < n_own_areas ? base_of_area(a) + within * SLOT_UIDS : 0;
}

void slot_fill(uint32_t instance, uint32_t k, struct slot *ret)
{
	assert(instance < SLOT_INSTANCES && k < SLOT_MAX);
	uint32_t net = NET_BASE + (instance << 16);
	/* 02: locally administered, unicast; then the slot, so that a packet dump can be read. */
	uint8_t mac[6] = { 0x02, 0xa7, (uint8_t)instance, 0x01, (uint8_t)(k >> 8), (uint8_t)k };

	*ret = (struct slot) {
		.instance = instance,
		.k = k,
		.ip = net + NET_FIRST + k,
		.gateway = net + 1,
		.names = net + 2,
	};
	fill_uids(ret);
	memcpy(ret->mac, mac, sizeof mac);
	memcpy(ret->host_mac, mac, sizeof mac);
	ret->host_mac[3] = 0x00;
	(void)snprintf(ret->veth, sizeof ret->veth, "at%us%u", instance, k);
}

uid_t slot_volume_root(uint32_t instance, uint32_t place)
{
	assert(instance < SLOT_INSTANCES && place < SLOT_VOLUME_PLACES);
	return z_base_of(instance) + (SLOT_HOME + 1 + place) * SLOT_UIDS;
}
