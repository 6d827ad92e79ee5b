/* SPDX-License-Identifier: Apache-2.0 */
/* front: the one object that the parts of atoll-front reach each other by.
 *
 *	main.c -> boot.c: hello and list from the warden, reconcile with the store, confine, serve
 *	dispatch.c: a request is for the API (routes.c -> api_*.c) or for a port of a sandbox (proxy.c)
 *	sandbox.c: the life of a sandbox; the only place that asks the warden to change one */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/boot_id.h"
#include "base/log.h"
#include "base/prices.h"
#include "front/account/alerts.h"
#include "front/api/request.h"
#include "front/proxy/envd_check.h"
#include "front/record/audit.h"
#include "front/record/notebook.h"
#include "front/sandbox/memory.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/template.h"
#include "front/sandbox/volumes.h"
#include "front/template/build.h"
#include "ipc/msg.h"

struct agent_link;
struct boot;
struct certs;
struct debug;
struct expiry;
struct held;
struct taking;
struct census;
struct http_server;
struct keyring;
struct loop;
struct metrics;
struct penalties;
struct warm_pool;
struct row_ends;
struct sandbox_table;
struct init_watch;
struct logbook;
struct sigwatch;
struct store;
struct timer;
struct warden_link;

#define ENVD_VERSION "0.6.13" /* what atoll-init implements, in the reference's counting */
#define CLIENT_ID "6532622b"  /* as the reference: clients only carry it around */

#define PORT_ENVD 49983
#define PORT_INTERPRETER 49999

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

LIST_HEAD(held_list, held);
LIST_HEAD(taking_list, taking);
TAILQ_HEAD(watch_list, init_watch);

#define DOORS_MAX 12

struct door {   /* a listening socket that the warden has passed */
	int fd; /* -1 once the server has it */
	bool is_tls, is_plain_too;
	uint16_t debug_port; /* not 0: it stands for that port of the debug sandbox */
};

struct front {
	struct front_options opt;
	struct loop *loop;
	struct store *store;
	struct store *uploads;     /* archives for builds, a file of its own */
	struct build_list builds;  /* under way */
	struct image_gc *image_gc; /* NULL: none is under way */
	struct vault *vault;
	struct audit *audit;         /* NULL: without */
	struct notebooks *notebooks; /* likewise */
	uint64_t witnessed;          /* bytes of requests and answers that witnesses hold */
	struct rules_link *rules;
	struct agent_link *agent;
	uint32_t agent_calls; /* passed on to atoll-agent, now */
	struct capacity *capacity;
	struct webhooks *webhooks; /* webhooks and what is to be delivered */
	struct warden_link *warden;
	struct http_server *server;
	struct sandbox_table *sandboxes;
	struct warm_pool *warm_pool; /* NULL: without */
	struct memory memory;
	struct expiry *expiry;
	struct keyring *keyring;
	struct penalties *penalties;
	struct metrics *metrics;
	struct census *census;
	struct logbook *logbook;
	struct watch_list watches; /* listening to init, used last first */
	uint32_t n_watches;
	struct templates templates;
	struct snapshot_list snapshots;
	struct volume_list volumes;
	uint32_t volume_calls;          /* under way, or being connected */
	LIST_HEAD(, departed) departed; /* sandboxes whose last count is still to come */
	uint32_t n_departed;
	struct msg_limits defaults, maxima;                        /* of a sandbox */
	struct msg_template_limits template_limits[TEMPLATES_MAX]; /* ... of those of a template */
	uint32_t n_template_limits;
	struct row_ends *row_ends; /* see front/sandbox/row.h */
	char host[BOOT_ID_SIZE];   /* the start of it that the rows are of, if that is not written yet; else "" */
	uint32_t max_sandboxes;
	struct boot *boot;   /* until it serves */
	struct certs *certs; /* NULL without TLS */
	struct debug *debug; /* NULL without debug ports */
	struct timer *tick;  /* once a second: usage samples, idle connections */
	struct timer *grace; /* while stopping */
	struct sigwatch *on_term, *on_int;
	struct req_list reading;    /* requests whose body is coming in, oldest first */
	struct req_waits waiting;   /* for the state of a sandbox */
	struct held_list held;      /* answers that wait */
	struct taking_list takings; /* files for builds that are coming in */
	uint32_t requests;          /* under way */
	uint32_t starts;            /* ... of sandboxes that somebody waits for */
	uint32_t checkpoints;       /* under way */
	int hurry_fd;               /* see sandbox_hurry_open() */
	bool hurries;               /* what is paused is to be written to disk now: see sandbox_hurry_look() */
	bool can_checkpoint;        /* the memory of a sandbox can be kept on disk */
	uint32_t ticks;
	bool history_more;                /* what is too old was too much for one go */
	size_t most_conns, most_requests; /* since memory was last given back */
	uint32_t fds;                     /* how many this process may have; shares of it go to: */
	uint32_t tunnels;                 /* ... upgraded connections, now */
	uint32_t exchanges;               /* ... requests into sandboxes */
	uint32_t idle;                    /* ... idle connections into sandboxes */
	enum log_level log_level;
	bool stopping;
	struct door doors[DOORS_MAX];
	size_t n_doors;
	int exit_code;
	bool lost; /* the warden is gone */
};

/* A client must not be able to use up the fds: an answer of the warden that carries one could not be received. */
static inline uint32_t front_max_conns(const struct front *f)
{
	return f->fds / 2 + (f->debug ? 0 : f->fds / 16);
}

static inline uint32_t front_max_debug_conns(const struct front *f)
{
	return f->fds / 32; /* for each of the two ports: the other 16th */
}

/* Connections into sandboxes, for requests under way; */
static inline uint32_t front_max_exchanges(const struct front *f)
{
	return f->fds / 8;
}

/* Requests that atoll-agent has, each with a connection to it; those that it makes for them are counted there
 * (front/link/agent_link.c). */
static inline uint32_t front_max_agent_calls(const struct front *f)
{
	return f->fds / 16 < 1024 ? f->fds / 16 : 1024;
}

/* ... and idle ones, kept for the next. */
static inline uint32_t front_max_idle(const struct front *f)
{
	return f->fds / 32;
}

/* ... and those on which init tells what happens. */
static inline uint32_t front_max_watches(const struct front *f)
{
	return f->fds / 32;
}

static inline uint32_t front_max_tunnels(const struct front *f)
{
	return f->fds / 16; /* two fds each */
}

/* Pipes for what is moved past us, two fds each. The kernel gives a user 16384 pages for all of them: 256 of 256 KiB,
 * and very small ones from then on. Without one a body is copied. */
static inline uint32_t front_max_pipes(const struct front *f)
{
	return f->fds / 128 < 128 ? f->fds / 128 : 128;
}

static inline uint32_t front_max_leaving(const struct front *f)
{
	return f->fds / 16; /* closed on our side, see stream_close_flushed() */
}

void front_request_begun(struct front *f);
void front_request_over(struct front *f); /* one of f->requests is done */
void front_log_level(struct front *f, enum log_level level);
void front_stop(struct front *f); /* finishes what is under way, then ends the loop */
void front_done(struct front *f); /* frees what is there; sandboxes live on */
