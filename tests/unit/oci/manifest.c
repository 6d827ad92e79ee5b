/* SPDX-License-Identifier: Apache-2.0 */
/* oci/manifest: documents of images, good and bad. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oci/manifest.h"
#include "unit.h"

#define D "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define D2 "sha256:fff3456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CONFIG "\"config\":{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"" D "\",\"size\":7}"
#define LAYER(type) "{\"mediaType\":\"" type "\",\"digest\":\"" D "\",\"size\":5}"

static const struct platform amd64 = { .os = "linux", .arch = "amd64" };

static void both_kinds_of_manifest(void **state)
{
	static const char *const good[] = {
		"{\"schemaVersion\":2,\"mediaType\":\"application/vnd.docker.distribution.manifest.v2+json\"," CONFIG
		",\"layers\":[" LAYER("application/vnd.docker.image.rootfs.diff.tar.gzip") "]}",
		"{\"schemaVersion\":2," CONFIG
		",\"layers\":[" LAYER("application/vnd.oci.image.layer.v1.tar+zstd") "]}",
	};
	static struct manifest m;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(manifest_read(str_of(good[i]), &m, &e), 0);
		assert_int_equal(m.n_layers, 1);
		assert_int_equal(m.layers[0].size, 5);
		assert_int_equal(m.config.size, 7);
	}
}

static void what_is_no_image_is_refused(void **state)
{
	static const struct {
		int no;
		const char *text;
	} bad[] = {
		{ EBADMSG, "" },
		{ EBADMSG, "[]" },
		{ EBADMSG, "{}" },
		{ EBADMSG, "{\"schemaVersion\":2}" },
		{ EBADMSG, "{\"schemaVersion\":2,\"schemaVersion\":2,\"layers\":[]}" },
		{ ENOTSUP, "{\"schemaVersion\":1,\"fsLayers\":[]}" },
		{ EBADMSG, "{\"schemaVersion\":2,\"layers\":[],\"manifests\":[]}" }, /* two images in one document */
		{ ENOTSUP, "{\"schemaVersion\":2,\"mediaType\":\"text/plain\"," CONFIG ",\"layers\":[]}" },
		{ EBADMSG, "{\"schemaVersion\":2,\"layers\":[]}" },
		{ EBADMSG, "{\"schemaVersion\":2,\"manifests\":[]}" },
		{ ENOTSUP,
		    "{\"schemaVersion\":2," CONFIG
		    ",\"layers\":[" LAYER("application/vnd.oci.image.layer.nondistributable.v1.tar") "]}" },
		{ ENOTSUP, "{\"schemaVersion\":2," CONFIG ",\"layers\":[" LAYER("application/octet-stream") "]}" },
		{ EBADMSG,
		    "{\"schemaVersion\":2," CONFIG
		    ",\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"" D "\"}]}" },
		{ EBADMSG,
		    "{\"schemaVersion\":2," CONFIG
		    ",\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"" D
		    "\",\"size\":-1}]}" },
		{ EBADMSG,
		    "{\"schemaVersion\":2," CONFIG
		    ",\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"sha256:../../"
		    "x\",\"size\":1}]}" },
	};
	static struct manifest m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;

		if (manifest_read(str_of(bad[i].text), &m, &e) != -bad[i].no)
			fail_msg("%s: %d %s", bad[i].text, e.no, e.text);
	}
}

static void an_index_is_chosen_from_by_platform(void **state)
{
	static const char index[] =
	    "{\"schemaVersion\":2,\"manifests\":["
	    "{\"digest\":\"" D
	    "\",\"size\":1,\"platform\":{\"os\":\"linux\",\"architecture\":\"arm64\",\"variant\":\"v8\"}},"
	    "{\"digest\":\"" D2 "\",\"size\":2,\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"}},"
	    "{\"digest\":\"" D "\",\"size\":3,\"platform\":{\"os\":\"unknown\",\"architecture\":\"unknown\"}}]}";
	const struct platform s390 = { .os = "linux", .arch = "s390x" };
	struct blob b;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(manifest_choose(str_of(index), &amd64, NULL, &b, &e), 0);
	assert_int_equal(b.size, 2);
	assert_int_equal(b.digest.b[0], 0xff);
	assert_int_equal(manifest_choose(str_of(index), &s390, NULL, &b, &e), -ENOENT);
	assert_non_null(strstr(e.text, "linux/arm64"));
}

static void a_layout_is_chosen_from_by_tag(void **state)
{
	static const char index[] =
	    "{\"schemaVersion\":2,\"manifests\":["
	    "{\"digest\":\"" D "\",\"size\":1,\"annotations\":{\"org.opencontainers.image.ref.name\":\"one\"}},"
	    "{\"digest\":\"" D
	    "\",\"size\":2,\"annotations\":{\"org.opencontainers.image.ref.name\":\"docker.io/x:two\"}}]}";
	struct blob b;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(manifest_choose(str_of(index), &amd64, "two", &b, &e), 0);
	assert_int_equal(b.size, 2);
	assert_int_equal(manifest_choose(str_of(index), &amd64, NULL, &b, &e), -EINVAL);
	assert_int_equal(manifest_choose(str_of(index), &amd64, "three", &b, &e), -ENOENT);
}

static void a_configuration_is_picked_over(void **state)
{
	static const char good[] =
	    "{\"os\":\"linux\",\"architecture\":\"amd64\",\"config\":{\"Env\":[\"A=b\"],\"Cmd\":null,\"Entrypoint\":["
	    "\"/x\"],"
	    "\"WorkingDir\":\"/w\",\"User\":\"u\",\"ExposedPorts\":{\"80/"
	    "tcp\":{}},\"Healthcheck\":{},\"OnBuild\":[\"RUN x\"]},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"" D
	    "\"]}}";
	static struct image_config c;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(image_config_read(str_of(good), &amd64, &c, &e), 0);
	assert_int_equal(c.n_diff_ids, 1);
	assert_int_equal(json_object_size(c.run), 6);
	assert_null(json_object_get(c.run, "Healthcheck"));
	image_config_done(&c);
	assert_int_equal(
	    image_config_read(STR_LIT("{\"architecture\":\"arm64\",\"rootfs\":{\"diff_ids\":[]}}"), &amd64, &c, &e),
	    -ENOEXEC);
	assert_int_equal(image_config_read(STR_LIT("{\"rootfs\":{\"diff_ids\":[7]}}"), &amd64, &c, &e), -EBADMSG);
	assert_int_equal(
	    image_config_read(STR_LIT("{\"rootfs\":{\"diff_ids\":[]},\"config\":{\"Env\":[7]}}"), &amd64, &c, &e),
	    -EBADMSG);
	assert_int_equal(image_config_read(STR_LIT("{\"rootfs\":{\"diff_ids\":[]},\"config\":{\"OnBuild\":\"RUN x\"}}"),
			     &amd64, &c, &e),
	    -EBADMSG);
	assert_int_equal(
	    image_config_read(STR_LIT("{\"rootfs\":{\"diff_ids\":[]},\"config\":{\"User\":{}}}"), &amd64, &c, &e),
	    -EBADMSG);
	assert_int_equal(image_config_read(STR_LIT("{}"), &amd64, &c, &e), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_of_manifest),
		cmocka_unit_test(what_is_no_image_is_refused),
		cmocka_unit_test(an_index_is_chosen_from_by_platform),
		cmocka_unit_test(a_layout_is_chosen_from_by_tag),
		cmocka_unit_test(a_configuration_is_picked_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
