/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/options: what the operator has set, as the warden passes it on the command line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/prices.h"

/* Limits of a sandbox that it can come near to: see front/account/alerts.h. */
enum alert { ALERT_MEMORY, ALERT_CPU, ALERT_DISK, ALERT_PROCESSES, ALERT_EGRESS, ALERTS };

/* Which requests to the code interpreter of a sandbox with a token must carry it. Official clients send it with
 * /execute, and not with /contexts. */
enum interp_token { INTERP_TOKEN_EXECUTE, INTERP_TOKEN_ALL, INTERP_TOKEN_NONE };

struct audit_options {
	bool on, required, full;
	uint32_t segment_kb, max_mb, kept_s;
};

struct notebook_options {
	uint32_t each_mb, max_mb, kept_s; /* each_mb 0: none are kept */
};

struct front_options {
	const char *state_dir;
	const char *key_file;
	const char *domain; /* "" when none is set up */
	const char *url;
	uint32_t max_timeout_s;
	uint32_t checkpoint_after_s;              /* paused for so long, a sandbox's memory is written to disk, too */
	uint32_t history_kept_s;                  /* what is known of a sandbox after its end */
	uint32_t paused_kept_s, snapshots_kept_s; /* 0: for ever */
	uint32_t max_lifetime_s;    /* of a sandbox without a pause, however often its timeout is set; 0: any */
	struct audit_options audit; /* the audit trail */
	struct notebook_options notebooks;
	uint32_t logs_kept_s, logs_max_mb;       /* of sandboxes that have ended */
	uint32_t head_timeout_s, body_timeout_s; /* of requests of the API; the head's of all */
	uint32_t rate_limit;                     /* requests per second and key, 0: none; of teams without their own */
	uint32_t team_max_sandboxes;             /* 0: none; of teams without their own */
	uint32_t mem_total_mb;                   /* of all sandboxes; 0: not set */
	/* Debian packages that templates of images get, with blanks between them; NULL: none */
	const char *image_packages;
	const char *image_map; /* "IMAGE=TEMPLATE,..." or NULL */
	/* layers of builds; archives for them, all and one */
	uint32_t template_cache_mb, template_uploads_mb, template_upload_max_mb;
	uint32_t build_timeout_s, ready_timeout_s;
	uint32_t volume_mb, volume_max_mb; /* how much one may hold: if nobody says, and at most */
	uint32_t team_max_volumes;
	uint32_t warm_pool_size, warm_pool_max; /* finished sandboxes per template: at least, at most; 0: none */
	struct prices prices;                   /* of usage */
	uint32_t events_kept_s;
	uint32_t webhook_timeout_s, webhook_attempts, webhook_retry_ms;
	bool webhook_allow_private;
	uint32_t alert_percent[ALERTS]; /* of a limit; 0: none */
	bool domain_is_default;         /* nobody has set it: clients that come by another one stay with that */
	bool open;                      /* no key is needed on this machine */
	bool metrics_open;
	bool text_from_stdout;               /* of sandboxes that do not say themselves */
	enum interp_token interpreter_token; /* what of the interpreter needs the access token */
};
