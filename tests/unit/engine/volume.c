/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/volume_mounts: where a sandbox has its volumes, as the kernel tells it. */
#include <stdint.h>
#include <string.h>

#include "engine/disk/volume.h"
#include "unit.h"

static const char mountinfo[] = "900 800 0:50 / / rw,nodev - overlay root rw\n"
				"901 900 0:51 / /dev rw - tmpfs dev rw\n"
				"902 900 0:52 /vone+v /data rw,nosuid,nodev - btrfs /dev/loop0 rw\n"
				"903 902 0:53 /vtwo+v /data/with\\040a\\134blank rw - btrfs /dev/loop0 rw\n"
				"904 900 0:52 /vone+v /second rw - btrfs /dev/loop0 rw\n"
				"905 900 0:54 /vbad+v /a[b rw - btrfs /dev/loop0 rw\n"
				"906 900 0:55 /vcut+v";

static struct engine_spec spec_of(const char *const *names, uint32_t n)
{
	struct engine_spec sp;

	memset(&sp, 0, sizeof sp);
	for (uint32_t i = 0; i < n; i++)
		strcpy(sp.volumes[i].name, names[i]);
	sp.n_volumes = n;
	return sp;
}

static void each_is_found_where_it_is_now(void **state)
{
	static const char *const names[] = { "vone", "vtwo", "vone" };
	struct engine_spec sp = spec_of(names, 3);
	char arg[VOLUME_DUMP_SIZE];
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(volume_mounts_arg(mountinfo, &sp, 0, arg, &e), 0);
	assert_string_equal(arg, "mnt[/data]:vol-vone-0");
	assert_int_equal(volume_mounts_arg(mountinfo, &sp, 1, arg, &e), 0);
	assert_string_equal(arg, "mnt[/data/with a\\blank]:vol-vtwo-1");
	assert_int_equal(volume_mounts_arg(mountinfo, &sp, 2, arg, &e), 0);
	assert_string_equal(arg, "mnt[/second]:vol-vone-2");
}

static void what_is_not_there_or_has_no_usable_place_is_an_error(void **state)
{
	static const char *const names[] = { "vbad", "vcut", "vnone", "von" };
	struct engine_spec sp = spec_of(names, 4);
	char arg[VOLUME_DUMP_SIZE];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct err e = ERR_INIT;

		assert_int_equal(volume_mounts_arg(mountinfo, &sp, i, arg, &e), i == 0 ? -EINVAL : -ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_found_where_it_is_now),
		cmocka_unit_test(what_is_not_there_or_has_no_usable_place_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
