/* SPDX-License-Identifier: Apache-2.0 */
/* config: the operator's settings, from the command line and a file of `key = value` lines.
 *
 * Both name the same keys (`max_pids = 512` is `--max-pids 512`) and go through one table. The command line wins
 * over the file whatever their order. Paths are made absolute, so nothing depends on the directory the server
 * was started in. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/inet.h"
#include "base/log.h"
#include "base/str.h"
#include "ipc/msg.h"

#define CONFIG_RANGES_MAX 64

enum config_limit { /* LIM_CPUS: in thousandths */
	LIM_MEMORY_MB,
	LIM_CPUS,
	LIM_PIDS,
	LIM_DISK_MB,
	LIM_SWAP_MB,
	LIM_OPEN_FILES,
	LIM_IO_MB_S,
	LIM_IOPS,
	LIM_EGRESS_MB,
	LIM_EGRESS_KB_S,
	LIM_COUNT,
};

struct config {
	char listen[256],
	    tls_listen[256]; /* ADDR:PORT or [ADDR]:PORT, several with blanks between them; TLS: "" for none */
	/* without tls_listen: `listen` serves both, with a certificate for local names */
	bool local_tls;
	bool inside_names;                          /* sandboxes reach the server by its host names */
	char tls_cert[PATH_MAX], tls_key[PATH_MAX]; /* PEM; "": those of `atoll tls init` in the state directory */
	char state[PATH_MAX], run[PATH_MAX], cache[PATH_MAX];
	char libexec[PATH_MAX];                                                  /* "": the directory of atolld */
	char file[PATH_MAX];                                                     /* "": none given */
	char front[PATH_MAX], egress[PATH_MAX], agent[PATH_MAX], init[PATH_MAX]; /* programs; "": found in libexec */
	uint64_t restart_max_ms; /* longest delay before a helper is restarted; tests set it low */
	char domain[128];        /* with or without a port; "": chosen by doors.c */
	char user[33], egress_user[33], hooks_user[33];
	uint64_t pool_size_mb, pool_max_mb; /* 0: derived from the free disk space */
	uint64_t cpu_weight;                /* of all sandboxes together */
	uint64_t mem_total_mb;              /* 0: the engine's choice */
	uint64_t max_sandboxes, max_timeout_s;
	uint64_t checkpoint_after_s; /* after a pause; a lower value only slows down clients that resume at once */
	char image_packages[1024];   /* Debian packages, separated by blanks; "none": none */
	char image_map[2048];        /* "IMAGE=TEMPLATE,...": images that are replaced by templates of the server */
	char prices[256];            /* of usage, see base/prices.h; "": none */
	uint64_t events_kept_s;      /* events of sandboxes, and the results of their deliveries */
	uint64_t webhook_timeout_s, webhook_attempts, webhook_retry_ms;
	bool webhook_allow_private, webhook_allow_own; /* own: also this host's own addresses */
	char webhook_ca_file[PATH_MAX];                /* additional CAs for the servers of webhooks; "": none */
	/* 0: no alert */
	uint64_t alert_memory_percent, alert_cpu_percent, alert_disk_percent, alert_processes_percent,
	    alert_egress_percent;
	char registry_mirrors[1024], registries[1024]; /* of images; interpreted by atoll-pull */
	uint64_t image_max_mb, image_cache_mb;         /* one unpacked image; all cached layers */
	/* of template builds: cached layers, all uploads, one upload */
	uint64_t template_cache_mb, template_uploads_mb, template_upload_max_mb;
	uint64_t build_timeout_s, ready_timeout_s;
	/* 0: for ever; for history: not at all */
	uint64_t history_kept_s, paused_kept_s, snapshots_kept_s, max_lifetime_s;
	uint64_t logs_kept_s, logs_max_mb; /* of sandboxes that have ended */
	/* AUDIT_REQUIRED: an operation that cannot be recorded is refused */
	enum audit_mode { AUDIT_OFF, AUDIT_ON, AUDIT_REQUIRED } audit;
	bool audit_full;                     /* code and commands are recorded, not only their hashes */
	uint64_t audit_kept_s, audit_max_mb; /* 0: for ever */
	uint64_t audit_segment_kb;
	/* recorded executions: of one sandbox (0: none), of all, and how long after its end */
	uint64_t notebook_mb, notebooks_max_mb, notebooks_kept_s;
	uint64_t head_timeout_s, body_timeout_s;         /* of requests */
	uint64_t warm_pool_size, warm_pool_max;          /* ready sandboxes; max is 0 until config_settle() */
	uint64_t defaults[LIM_COUNT], maxima[LIM_COUNT]; /* of a sandbox; defaults: 0 until config_settle() */
	struct template_limits {                         /* ... of a template; 0: as above */
		char name[TEMPLATE_NAME_SIZE];
		uint64_t defaults[LIM_COUNT], maxima[LIM_COUNT];
	} template_limits[TEMPLATES_MAX];
	uint32_t n_template_limits;
	uint64_t team_max_volumes, volume_size_mb, volume_max_mb;
	uint64_t rate_limit, team_max_sandboxes; /* 0: none; for keys and teams without a limit of their own */
	bool open, metrics_open;                 /* no key needed; on loopback addresses only */
	bool own_view;                           /* sandboxes see their own memory and CPUs, not the host's */
	bool core_scheduling;                    /* two sandboxes never share a CPU core at the same time */
	bool explain_refusals;                   /* the kernel reports refused system calls */
	bool debug_ports;                        /* the ports of E2B_DEBUG, on loopback */
	bool text_from_stdout;                   /* the printed output of a cell is its result if it has no other */
	/* which requests to secure sandboxes need the access token */
	enum token_need { TOKEN_NONE, TOKEN_EXECUTE, TOKEN_ALL } interpreter_token;
	char egress_ca_file[PATH_MAX]; /* additional CAs that atoll-egress trusts; "": none */
	char agent_config[PATH_MAX];   /* settings of atoll-agent, which reads the file itself; "": none */
	char dns_servers[256];         /* addresses, separated by commas; "": those of the host */
	struct inet_range allow_private[CONFIG_RANGES_MAX]; /* private ranges that sandboxes may reach */
	uint32_t n_allow_private;
	bool no_storage;
	bool keep_on_stop;
	bool version; /* only print the version */
	enum log_level log_level;
	struct msg_template templates[TEMPLATES_MAX];
	uint32_t n_templates;
	char tools[TEMPLATE_KEY_SIZE]; /* the root directory with CRIU, next to the templates; "": none */
};

/* Reads argv and the file it names. On failure e says which option, or which line and key. */
int config_load(struct config *c, int argc, char **argv, struct err *e);

/* The two halves, exported for tests: applies the text of a file to c, and sets one key. */
int config_text(struct config *c, struct str text, struct err *e);
int config_set(struct config *c, struct str key, struct str value, struct err *e);
void config_defaults(struct config *c);
/* fills in what was not set and checks that the values are consistent */
int config_settle(struct config *c, struct err *e);

/* Returns the next word of a list separated by blanks; empty at the end. */
struct str config_next_word(struct str *list);

/* parses a value as the file does for that key; -EINVAL, -ERANGE */
int config_number(struct str key, struct str value, uint64_t *ret);

/* config_limits.c */
struct msg_limits config_limits(const uint64_t v[LIM_COUNT]);
int config_settle_limits(struct config *c, struct err *e);
int config_set_template_limits(struct config *c, struct str value); /* NAME memory_mb=512 max_memory_mb=1024 ... */
