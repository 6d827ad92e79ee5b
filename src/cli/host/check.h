/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check: the requirements of a host that runs sandboxes; one function per requirement, each with a remedy.
 *
 * A check changes nothing permanently: a probe that would do so runs in a child process with its own namespaces. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum check_level { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check_host { /* the configuration that the server would use */
	const char *state, *cache, *listen;
	const char *config; /* NULL if there is none */
};

struct check_result {
	enum check_level level;
	char text[240];   /* what was found */
	char remedy[320]; /* empty if there is nothing to do */
};

#define CHECK_RESULT_INIT ((struct check_result) { .level = CHECK_OK })

struct check {
	const char *name;
	bool at_start; /* is quick, and a server cannot run without it */
	void (*run)(const struct check_host *h, struct check_result *r);
};

extern const struct check checks[];
extern const size_t n_checks;

void check_found(struct check_result *r, enum check_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void check_remedy(struct check_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool check_is_root(struct check_result *r); /* if false, reports that the check needs root */

/* check_kernel.c */
void check_kernel(const struct check_host *h, struct check_result *r);
void check_capabilities(const struct check_host *h, struct check_result *r);
void check_userns(const struct check_host *h, struct check_result *r);
void check_seccomp(const struct check_host *h, struct check_result *r);
void check_cgroup(const struct check_host *h, struct check_result *r);
void check_swap(const struct check_host *h, struct check_result *r);

/* check_walls.c */
void check_kernel_bugs(const struct check_host *h, struct check_result *r);
void check_processor(const struct check_host *h, struct check_result *r);
void check_landlock(const struct check_host *h, struct check_result *r);
void check_view(const struct check_host *h, struct check_result *r);
void check_core_scheduling(const struct check_host *h, struct check_result *r);
void check_audit(const struct check_host *h, struct check_result *r);
void check_quota(const struct check_host *h, struct check_result *r);
void check_limits(const struct check_host *h, struct check_result *r);

/* check_disk.c */
void check_overlay(const struct check_host *h, struct check_result *r);
void check_idmap(const struct check_host *h, struct check_result *r);
void check_btrfs(const struct check_host *h, struct check_result *r);
void check_loop(const struct check_host *h, struct check_result *r);
void check_state_space(const struct check_host *h, struct check_result *r);
void check_promises(const struct check_host *h, struct check_result *r);
void check_cache_space(const struct check_host *h, struct check_result *r);

/* check_net.c */
void check_nftables(const struct check_host *h, struct check_result *r);
void check_veth(const struct check_host *h, struct check_result *r);
void check_forwarding(const struct check_host *h, struct check_result *r);
void check_forward_policy(const struct check_host *h, struct check_result *r);
void check_resolver(const struct check_host *h, struct check_result *r);
void check_listen(const struct check_host *h, struct check_result *r);

/* check_tls.c */
void check_certificate(const struct check_host *h, struct check_result *r);
void check_names(const struct check_host *h, struct check_result *r);

/* check_setup.c */
void check_start(const struct check_host *h, struct check_result *r);
void check_config(const struct check_host *h, struct check_result *r);
void check_users(const struct check_host *h, struct check_result *r);
void check_programs(const struct check_host *h, struct check_result *r);
void check_mmdebstrap(const struct check_host *h, struct check_result *r);
void check_template(const struct check_host *h, struct check_result *r);
void check_criu(const struct check_host *h, struct check_result *r);

/* check_engines.c */
void check_engines(const struct check_host *h, struct check_result *r);
