/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/kernel_bugs: the list, and which entries affect a version. */
#include "cli/host/kernel_bugs.h"

#include <stdio.h>
#include <string.h>

const struct kernel_bug kernel_bugs[] = {
	{ "CVE-2023-3269", "use after free in the memory map tree (StackRot)", true, "every program has memory maps",
	    { { KERNEL(6, 1, 0), KERNEL(6, 1, 37) }, { KERNEL(6, 2, 0), KERNEL(6, 3, 11) },
		{ KERNEL(6, 4, 0), KERNEL(6, 4, 1) } } },
	{ "CVE-2025-38236", "use after free in urgent data of unix sockets", true, "unix sockets are allowed",
	    { { KERNEL(6, 1, 141), KERNEL(6, 1, 143) }, { KERNEL(6, 6, 93), KERNEL(6, 6, 96) },
		{ KERNEL(6, 9, 0), KERNEL(6, 12, 36) }, { KERNEL(6, 13, 0), KERNEL(6, 15, 5) } } },
	{ "CVE-2024-1086", "use after free in nf_tables verdicts", false,
	    "requires CAP_NET_ADMIN and netlink sockets, which are refused",
	    { { KERNEL(3, 15, 0), KERNEL(6, 1, 76) }, { KERNEL(6, 2, 0), KERNEL(6, 6, 15) },
		{ KERNEL(6, 7, 0), KERNEL(6, 7, 3) } } },
	{ "CVE-2023-32233", "use after free in anonymous sets of nf_tables", false,
	    "requires CAP_NET_ADMIN and netlink sockets, which are refused",
	    { { KERNEL(3, 13, 0), KERNEL(6, 1, 28) }, { KERNEL(6, 2, 0), KERNEL(6, 2, 15) },
		{ KERNEL(6, 3, 0), KERNEL(6, 3, 2) } } },
	{ "CVE-2023-0386", "overlayfs copies up setuid programs with unmapped owners", false,
	    "mounts and new user namespaces are refused", { { KERNEL(5, 11, 0), KERNEL(6, 1, 9) } } },
	{ "CVE-2024-0582", "use after free in io_uring buffer rings", false, "io_uring is refused",
	    { { KERNEL(6, 4, 0), KERNEL(6, 6, 5) } } },
	{ "CVE-2024-50264", "use after free in vsock", false, "sockets of that family are refused",
	    { { KERNEL(4, 8, 0), KERNEL(6, 1, 117) }, { KERNEL(6, 2, 0), KERNEL(6, 6, 61) },
		{ KERNEL(6, 7, 0), KERNEL(6, 11, 8) } } },
};
const size_t n_kernel_bugs = sizeof(kernel_bugs) / sizeof(*kernel_bugs);

/* Debian's release, such as 6.1.0-28-amd64, is that of its ABI. The kernel's real version is in uname's version: "#1
 * SMP Debian 6.1.119-1 (...)". */
bool kernel_version_parse(const char *release, const char *version, struct kernel_version *ret)
{
	const char *debian = strstr(version, "Debian "), *text = debian ? debian + strlen("Debian ") : release;
	unsigned a, b, c = 0;

	if (sscanf(text, "%u.%u.%u", &a, &b, &c) < 2 || a > 255 || b > 255 || c > 65535)
		return false;
	ret->number = KERNEL(a, b, c);
	ret->exact = debian ||
	    (!strstr(version, "Ubuntu") && !strstr(release, "-generic") && !strstr(release, ".el") &&
		!strstr(release, ".amzn"));
	return true;
}

bool kernel_has_bug(const struct kernel_version *v, const struct kernel_bug *b)
{
	for (size_t i = 0; i < sizeof(b->has) / sizeof(*b->has) && b->has[i].until; i++) {
		if (v->number >= b->has[i].from && v->number < b->has[i].until)
			return true;
	}
	return false;
}
