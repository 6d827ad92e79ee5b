/* SPDX-License-Identifier: Apache-2.0 */
/* Units of ipc/settings: what the warden passes to each program arrives, and nothing else is taken. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "ipc/settings.h"
#include "unit.h"
#include "warden/config.h"

static struct config c;
static struct {
	struct front_options front;
	struct egress_options egress;
	struct agent_options agent;
	struct webhooks_options webhooks;
	struct oidc_options oidc;
	struct refusals_options refusals;
	struct pull_options pull;
} sent, got;

static const struct {
	enum options_of of;
	void *sent, *got;
	size_t size;
} programs[] = {
	{ OPTIONS_FRONT, &sent.front, &got.front, sizeof sent.front },
	{ OPTIONS_EGRESS, &sent.egress, &got.egress, sizeof sent.egress },
	{ OPTIONS_AGENT, &sent.agent, &got.agent, sizeof sent.agent },
	{ OPTIONS_WEBHOOKS, &sent.webhooks, &got.webhooks, sizeof sent.webhooks },
	{ OPTIONS_OIDC, &sent.oidc, &got.oidc, sizeof sent.oidc },
	{ OPTIONS_REFUSALS, &sent.refusals, &got.refusals, sizeof sent.refusals },
	{ OPTIONS_PULL, &sent.pull, &got.pull, sizeof sent.pull },
};

static int pass_bytes(size_t i, const void *bytes, size_t n)
{
	autoclose int fd = -1;
	struct err e = ERR_INIT;

	assert_int_equal(options_seal("options", bytes, n, &fd, &e), 0);
	return options_read(fd, programs[i].of, programs[i].got, programs[i].size, &e);
}

static int pass(enum options_of of)
{
	assert_int_equal(programs[of].of, of);
	return pass_bytes(of, programs[of].sent, programs[of].size);
}

static int set_up(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(config_text(&c,
			     STR_LIT("image_packages = jq\nmax_timeout_s = 77\naudit = required\nopen = true\n"
				     "log_level = error\nwebhook_allow_own = true\nimage_map = a=b\n"
				     "webhook_ca_file = /ca/of/webhooks\negress_ca_file = /ca/of/egress\n"
				     "dns_servers = 192.0.2.1 192.0.2.2\nallow_private = 10.20.0.0/16, 192.168.7.4\n"
				     "agent_config = /agent.json\nimage_max_mb = 5\nimage_cache_mb = 6\ncache = /c\n"
				     "oidc_issuer = https://id.example\noidc_client_id = atoll\noidc_roles = *=viewer\n"
				     "oidc_name = Example\noidc_ca_file = /ca/of/oidc\n"
				     "registry_mirrors = docker.io=http://m\nregistries = http://r\n"),
			     &e),
	    0);
	assert_int_equal(config_settle(&c, &e), 0);
	config_for_front(&c, &sent.front);
	sent.front.n_doors = 2;
	sent.front.doors[0] = DOOR_BOTH;
	sent.front.doors[1] = DOOR_DEBUG_ENVD;
	memcpy(sent.front.state_dir, "/s", sizeof "/s");
	config_for_egress(&c, &sent.egress);
	sent.egress.names_ip = 0x0ac80002;
	config_for_agent(&c, &sent.agent);
	config_for_webhooks(&c, &sent.webhooks);
	config_for_oidc(&c, &sent.oidc);
	sent.oidc.oidc_has_secret = true;
	config_for_refusals(&c, &sent.refusals);
	sent.refusals.n_uids = 2;
	sent.refusals.uids[1] = 0x90000000;
	config_for_pull(&c, &sent.pull);
	memset(&got, 0x5a, sizeof got);
	return 0;
}

static void settings_of_the_front_arrive(void **state)
{
	(void)state;
	assert_int_equal(pass(OPTIONS_FRONT), 0);
	assert_string_equal(got.front.oidc_roles, "*=viewer");
	assert_string_equal(got.front.oidc_name, "Example");
	assert_string_equal(got.front.image_packages, "jq"); /* and nothing of the longer default */
	assert_string_equal(got.front.image_map, "a=b");
	assert_int_equal(got.front.max_timeout_s, 77);
	assert_int_equal(got.front.head_timeout_s, c.head_timeout_s);
	assert_int_equal(got.front.warm_pool_max, c.warm_pool_max);
	assert_int_equal(got.front.audit, AUDIT_REQUIRED);
	assert_int_equal(got.front.log_level, LOG_LVL_ERROR);
	assert_true(got.front.open && got.front.webhook_allow_private && !got.front.metrics_open);
	assert_string_equal(got.front.state_dir, "/s");
	assert_int_equal(got.front.doors[1], DOOR_DEBUG_ENVD);
}

static void settings_of_the_helpers_arrive(void **state)
{
	(void)state;
	assert_int_equal(pass(OPTIONS_EGRESS), 0);
	assert_string_equal(got.egress.dns_servers, "192.0.2.1,192.0.2.2");
	assert_string_equal(got.egress.egress_ca_file, "/ca/of/egress");
	assert_int_equal(got.egress.allow_private.n, 2);
	assert_int_equal(got.egress.allow_private.v[0].ip, 0x0a140000);
	assert_int_equal(got.egress.allow_private.v[0].len, 16);
	assert_int_equal(got.egress.allow_private.v[1].ip, 0xc0a80704);
	assert_int_equal(got.egress.names_ip, 0x0ac80002);
	assert_int_equal(got.egress.log_level, LOG_LVL_ERROR);
	assert_int_equal(pass(OPTIONS_AGENT), 0);
	assert_string_equal(got.agent.agent_config, "/agent.json");
	assert_int_equal(got.agent.log_level, LOG_LVL_ERROR);
	assert_int_equal(pass(OPTIONS_WEBHOOKS), 0);
	assert_string_equal(got.webhooks.webhook_ca_file, "/ca/of/webhooks");
	assert_true(got.webhooks.webhook_allow_own && got.webhooks.webhook_allow_private);
	assert_int_equal(got.webhooks.log_level, LOG_LVL_ERROR);
	assert_int_equal(pass(OPTIONS_REFUSALS), 0);
	assert_int_equal(pass(OPTIONS_OIDC), 0);
	assert_string_equal(got.oidc.oidc_issuer, "https://id.example");
	assert_string_equal(got.oidc.oidc_ca_file, "/ca/of/oidc");
	assert_true(got.oidc.oidc_has_secret);
	assert_int_equal(got.refusals.n_uids, 2);
	assert_int_equal(got.refusals.uids[1], 0x90000000);
	assert_int_equal(got.refusals.log_level, LOG_LVL_ERROR);
	assert_int_equal(pass(OPTIONS_PULL), 0);
	assert_string_equal(got.pull.cache, "/c");
	assert_string_equal(got.pull.state, "/var/lib/atoll");
	assert_int_equal(got.pull.image_max_mb, 5);
	assert_int_equal(got.pull.image_cache_mb, 6);
	assert_string_equal(got.pull.registry_mirrors, "docker.io=http://m");
	assert_string_equal(got.pull.registries, "http://r");
}

static void no_packages_are_an_empty_list(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(config_set(&c, STR_LIT("image_packages"), STR_LIT("none"), &e), 0);
	assert_int_equal(config_settle(&c, &e), 0);
	assert_string_equal(c.image_packages, "");
}

/* A path that was given twice leaves bytes of the first behind its end. */
static void nothing_of_an_earlier_value_is_passed(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(config_set(&c, STR_LIT("agent_config"), STR_LIT("/a"), &e), 0);
	config_for_agent(&c, &sent.agent);
	assert_int_equal(pass(OPTIONS_AGENT), 0);
	assert_string_equal(got.agent.agent_config, "/a");
}

static void another_build_is_refused(void **state)
{
	static char longer[sizeof sent + 1];

	(void)state;
	for (size_t i = 0; i < OPTIONS_COUNT; i++) {
		uint64_t *layout = programs[i].sent;

		assert_int_equal(pass_bytes(i, programs[i].sent, programs[i].size - 1), -EPROTO);
		memcpy(longer, programs[i].sent, programs[i].size);
		assert_int_equal(pass_bytes(i, longer, programs[i].size + 1), -EPROTO);
		assert_int_equal(pass_bytes(i, "", 0), -EPROTO);
		assert_int_equal(pass((enum options_of)i), 0);
		*layout ^= 1;
		assert_int_equal(pass((enum options_of)i), -EPROTO);
	}
}

static void options_of_another_program_are_refused(void **state)
{
	static char bytes[sizeof sent];

	(void)state;
	for (size_t i = 0; i < OPTIONS_COUNT; i++) {
		for (size_t k = 0; k < OPTIONS_COUNT; k++) {
			memset(bytes, 0, sizeof bytes);
			memcpy(bytes, programs[k].sent, programs[k].size);
			assert_int_equal(pass_bytes(i, bytes, programs[i].size), i == k ? 0 : -EPROTO);
		}
	}
}

static void malformed_options_are_refused(void **state)
{
	(void)state;
	sent.front.image_map[sizeof sent.front.image_map - 1] = 'x';
	assert_int_equal(pass(OPTIONS_FRONT), -EINVAL);
	(void)set_up(NULL);
	sent.front.n_doors = DOORS_MAX + 1;
	assert_int_equal(pass(OPTIONS_FRONT), -EINVAL);
	sent.front.n_doors = 0;
	assert_int_equal(pass(OPTIONS_FRONT), -EINVAL);
	sent.front.n_doors = 1;
	sent.front.doors[0] = DOOR_KINDS;
	assert_int_equal(pass(OPTIONS_FRONT), -EINVAL);
	memset(sent.agent.agent_config, 'x', sizeof sent.agent.agent_config);
	assert_int_equal(pass(OPTIONS_AGENT), -EINVAL);
	sent.refusals.log_level = LOG_LVL_ERROR + 1;
	assert_int_equal(pass(OPTIONS_REFUSALS), -EINVAL);
	memset(&sent.webhooks.webhook_allow_own, 2, 1);
	assert_int_equal(pass(OPTIONS_WEBHOOKS), -EINVAL);
	sent.egress.allow_private.n = INET_RANGES_MAX + 1;
	assert_int_equal(pass(OPTIONS_EGRESS), -EINVAL);
	sent.egress.allow_private.n = 1;
	sent.egress.allow_private.v[0].len = 33;
	assert_int_equal(pass(OPTIONS_EGRESS), -EINVAL);
}

static void nobody_can_change_them(void **state)
{
	autoclose int fd = -1;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(options_seal("options", &sent.agent, sizeof sent.agent, &fd, &e), 0);
	assert_true(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM);
	assert_true(ftruncate(fd, 0) < 0 && errno == EPERM);
	assert_true(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) < 0 && errno == EPERM);
	assert_ptr_equal(mmap(NULL, 1, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
}

static void only_the_log_level_is_reloaded(void **state)
{
	static struct config again;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&again);
	assert_int_equal(config_text(&again, STR_LIT("log_level = debug\nmax_timeout_s = 5\nlisten = [::1]:1\n"), &e),
	    0);
	config_reload(&c, &again);
	assert_int_equal(c.log_level, LOG_LVL_DEBUG);
	assert_int_equal(c.max_timeout_s, 77);
	assert_string_equal(c.listen, "127.0.0.1:8080");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(settings_of_the_front_arrive, set_up),
		cmocka_unit_test_setup(settings_of_the_helpers_arrive, set_up),
		cmocka_unit_test_setup(no_packages_are_an_empty_list, set_up),
		cmocka_unit_test_setup(nothing_of_an_earlier_value_is_passed, set_up),
		cmocka_unit_test_setup(another_build_is_refused, set_up),
		cmocka_unit_test_setup(options_of_another_program_are_refused, set_up),
		cmocka_unit_test_setup(malformed_options_are_refused, set_up),
		cmocka_unit_test_setup(nobody_can_change_them, set_up),
		cmocka_unit_test_setup(only_the_log_level_is_reloaded, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
