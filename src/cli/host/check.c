/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check: the list of checks. */
#include "cli/host/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

const struct check checks[] = {
	{ "kernel", true, check_kernel },
	{ "known holes", false, check_kernel_bugs },
	{ "processor", false, check_processor },
	{ "capabilities", true, check_capabilities },
	{ "user namespaces", true, check_userns },
	{ "seccomp", true, check_seccomp },
	{ "landlock", false, check_landlock },
	{ "core scheduling", false, check_core_scheduling },
	{ "audit", false, check_audit },
	{ "cgroups", true, check_cgroup },
	{ "idle memory", false, check_swap },
	{ "own view", false, check_view },
	{ "overlay", true, check_overlay },
	{ "idmapped mounts", true, check_idmap },
	{ "btrfs", false, check_btrfs },
	{ "disk quotas", false, check_quota },
	{ "loop devices", false, check_loop },
	{ "nftables", true, check_nftables },
	{ "veth", true, check_veth },
	{ "ip forwarding", false, check_forwarding },
	{ "forward policy", false, check_forward_policy },
	{ "resolver", false, check_resolver },
	{ "limits", false, check_limits },
	{ "start", true, check_start },
	{ "configuration", false, check_config },
	{ "system users", true, check_users },
	{ "programs", false, check_programs },
	{ "mmdebstrap", false, check_mmdebstrap },
	{ "template", false, check_template },
	{ "CRIU", false, check_criu },
	{ "engines", false, check_engines },
	{ "state directory", false, check_state_space },
	{ "disk promised", false, check_promises },
	{ "template cache", false, check_cache_space },
	{ "listen address", false, check_listen },
	{ "certificate", false, check_certificate },
	{ "host names", false, check_names },
};
const size_t n_checks = sizeof(checks) / sizeof(*checks);

void check_found(struct check_result *r, enum check_level level, const char *fmt, ...)
{
	va_list ap;

	r->level = level;
	va_start(ap, fmt);
	(void)vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
}

void check_remedy(struct check_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(r->remedy, sizeof(r->remedy), fmt, ap);
	va_end(ap);
}

bool check_is_root(struct check_result *r)
{
	if (geteuid() == 0)
		return true;
	check_found(r, CHECK_WARN, "not checked: requires root");
	check_remedy(r, "sudo atoll doctor");
	return false;
}
