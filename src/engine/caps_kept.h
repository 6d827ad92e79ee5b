/* SPDX-License-Identifier: Apache-2.0 */
/* caps_kept: the capabilities of a sandbox's root, over the sandbox's own user namespace and nothing else.
 *
 * Absent on purpose:
 *	SYS_ADMIN		mounts and namespaces; half of all known escapes used it
 *	NET_ADMIN, NET_RAW	changing its address and links, spoofing, filling the host's neighbour table
 *	SYS_PTRACE		reading pid 1, which is not dumpable; tracing one's own processes needs no capability
 *	MKNOD			would be refused anyway in a user namespace
 *	SYS_RESOURCE		raising its own limits
 *	SYS_NICE, IPC_LOCK, SYS_TIME, SYSLOG, BPF and the others	affect the whole machine */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

#define CAPS_BIT(c) (1ull << (c))

/* Files: dpkg and tar change owners, write where root has no permission, and preserve setuid bits. */
#define CAPS_FILES (CAPS_BIT(CAP_CHOWN) | CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) | CAPS_BIT(CAP_FSETID))
/* User ids: sudo, su, apt's _apt user, postgres and redis switch from root to another user. */
#define CAPS_USERS (CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID))
/* Signals: service scripts stop processes of other users. */
#define CAPS_SIGNALS CAPS_BIT(CAP_KILL)
/* File capabilities of packages (ping, a server on port 80), and daemons that drop their own (sshd, setpriv). */
#define CAPS_CAPS (CAPS_BIT(CAP_SETFCAP) | CAPS_BIT(CAP_SETPCAP))
/* Ports below 1024, for programs that check for the capability instead of trying: the namespace's first
 * unprivileged port is 0 anyway. */
#define CAPS_PORTS CAPS_BIT(CAP_NET_BIND_SERVICE)
/* apt's hooks, sshd and postfix chroot into an empty directory to confine themselves. */
#define CAPS_CHROOT CAPS_BIT(CAP_SYS_CHROOT)
/* sudo, su and dbus check for it before they open a socket to the audit system, which they do not get. */
#define CAPS_AUDIT CAPS_BIT(CAP_AUDIT_WRITE)

#define CAPS_KEPT (CAPS_FILES | CAPS_USERS | CAPS_SIGNALS | CAPS_CAPS | CAPS_PORTS | CAPS_CHROOT | CAPS_AUDIT)
