/* SPDX-License-Identifier: Apache-2.0 */
/* records_v3: records as the first versions wrote them: one fixed struct, then a policy. For records.c. */
#pragma once

#include "warden/records.h"

#define RECORD_V3 3u
#define RECORD_SUM_BEGIN 0xcbf29ce484222325u

struct record_file_v3 { /* never change it */
	char magic[8];
	uint32_t version, size;
	uint32_t stage, frozen;
	char id[24], template_key[33], from[24];
	uint32_t slot;
	uint8_t no_internet, ruled;
	uint64_t mem_bytes, disk_bytes;
	uint32_t cpu_permille, pids;
	int32_t pid;
	uint64_t pid_start;
	char boot_id[40];
	uint64_t started_wall_ms, extra_bytes;
	uint64_t sum; /* over everything before it and the policy after it */
};

int record_decode_v3(const void *p, size_t n, struct record *ret);

/* Defined in records.c. */
uint64_t record_sum(uint64_t h, const void *p, size_t n);
int record_policy(const void *bytes, size_t n, struct held_policy **ret);
bool record_is_sound(const struct record *r);
