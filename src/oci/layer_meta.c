/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer_meta: which extended attributes a file of an image may have. */
#include <endian.h>
#include <linux/capability.h>
#include <string.h>

#include "engine/caps_kept.h"
#include "oci/layer_impl.h"

#define XATTR_VALUE_MAX 4096

/* exec() refuses a program with file capabilities that a sandbox cannot have. Without the attribute it runs, and
 * most such programs have another way (as ping does). */
static bool caps_ok(struct str value)
{
	struct vfs_ns_cap_data d = { 0 };
	uint64_t permitted;

	if (value.n != sizeof(struct vfs_cap_data) && value.n != sizeof(struct vfs_ns_cap_data))
		return false;
	memcpy(&d, value.p, value.n);
	uint32_t revision = le32toh(d.magic_etc) & VFS_CAP_REVISION_MASK;

	if (revision != VFS_CAP_REVISION_2 && (revision != VFS_CAP_REVISION_3 || d.rootid != 0))
		return false;
	permitted = le32toh(d.data[0].permitted) | le32toh(d.data[0].inheritable);
	permitted |= (uint64_t)(le32toh(d.data[1].permitted) | le32toh(d.data[1].inheritable)) << 32;
	return (permitted & ~(uint64_t)CAPS_KEPT) == 0;
}

bool layer_xattr_ok(const struct tape_xattr *x)
{
	if (x->value.n > XATTR_VALUE_MAX)
		return false;
	if (str_is(x->name, "security.capability"))
		return caps_ok(x->value);
	/* user.overlay.* would be interpreted by an unprivileged overlayfs. */
	return str_starts(x->name, "user.") && !str_starts(x->name, "user.overlay.") && x->name.n > 5;
}
