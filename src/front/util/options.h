/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/options: the operator's settings, passed by the warden on the command line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/prices.h"

/* Limits of a sandbox that alerts are reported for: see front/account/alerts.h. */
enum alert { ALERT_MEMORY, ALERT_CPU, ALERT_DISK, ALERT_PROCESSES, ALERT_EGRESS, ALERTS };

/* Which requests to the code interpreter of a sandbox with a token must carry that token. Official clients send it
 * with /execute, but not with /contexts. */
enum interp_token { INTERP_TOKEN_EXECUTE, INTERP_TOKEN_ALL, INTERP_TOKEN_NONE };

struct audit_options {
	bool on, required, full;
	uint32_t segment_kb, max_mb, kept_s;
};

struct notebook_options {
	uint32_t each_mb, max_mb, kept_s; /* each_mb 0: disabled */
};

struct front_options {
	const char *state_dir;
	const char *key_file;
	const char *domain; /* "": not configured */
	const char *url;
	uint32_t max_timeout_s;
	uint32_t checkpoint_after_s;              /* time paused after which the memory is also written to disk */
	uint32_t history_kept_s;                  /* retention of records about ended sandboxes */
	uint32_t paused_kept_s, snapshots_kept_s; /* 0: for ever */
	uint32_t max_lifetime_s;    /* maximum time a sandbox runs without a pause, whatever its timeout; 0: no limit */
	struct audit_options audit; /* the audit trail */
	struct notebook_options notebooks;
	uint32_t logs_kept_s, logs_max_mb;       /* logs of ended sandboxes */
	uint32_t head_timeout_s, body_timeout_s; /* for requests to the API; the head timeout applies to all */
	/* requests per second and key, 0: no limit; for teams without their own */
	uint32_t rate_limit;
	uint32_t team_max_sandboxes; /* 0: no limit; for teams without their own */
	uint32_t mem_total_mb;       /* for all sandboxes together; 0: not set */
	/* Debian packages to install in templates made from images, separated by blanks; NULL: none */
	const char *image_packages;
	const char *image_map; /* "IMAGE=TEMPLATE,..." or NULL */
	/* size of the build cache; of all uploaded archives, and of one */
	uint32_t template_cache_mb, template_uploads_mb, template_upload_max_mb;
	uint32_t build_timeout_s, ready_timeout_s;
	uint32_t volume_mb, volume_max_mb; /* size of a volume: default, maximum */
	uint32_t team_max_volumes;
	uint32_t warm_pool_size, warm_pool_max; /* members of the warm pool per template: minimum, maximum; 0: none */
	struct prices prices;                   /* for the usage report */
	uint32_t events_kept_s;
	uint32_t webhook_timeout_s, webhook_attempts, webhook_retry_ms;
	bool webhook_allow_private;
	uint32_t alert_percent[ALERTS]; /* of a limit; 0: no alerts */
	bool domain_is_default;         /* not configured: clients that use another host name keep that */
	bool open;                      /* requests from this machine need no key */
	bool metrics_open;
	bool text_from_stdout;               /* for sandboxes that do not set it themselves */
	enum interp_token interpreter_token; /* which requests to the interpreter need the access token */
};
