/* SPDX-License-Identifier: Apache-2.0 */
/* caps_kept: what root of a sandbox may do.
 *
 * What sudo, useradd, apt and ordinary servers need. Absent on purpose: NET_ADMIN and NET_RAW (its own address, spoofing,
 * filling the host's neighbour table), SYS_ADMIN, SYS_PTRACE, MKNOD, SYS_RESOURCE (its own limits). */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

#define CAPS_BIT(c) (1ull << (c))
#define CAPS_KEPT (CAPS_BIT(CAP_CHOWN) | CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) | CAPS_BIT(CAP_FSETID) | \
	CAPS_BIT(CAP_KILL) | CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETPCAP) | \
	CAPS_BIT(CAP_NET_BIND_SERVICE) | CAPS_BIT(CAP_SYS_CHROOT) | CAPS_BIT(CAP_AUDIT_WRITE) | CAPS_BIT(CAP_SETFCAP))
