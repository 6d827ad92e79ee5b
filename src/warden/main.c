/* SPDX-License-Identifier: Apache-2.0 */
/* atolld: the warden. Opens everything in order, runs the loop, and shuts down in order.
 *
 * It runs as root and therefore parses nothing from outside: no HTTP, JSON, DNS or SQL code is linked into it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/defaults.h"
#include "base/fd.h"
#include "base/inherited.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/certs.h"
#include "warden/doors.h"
#include "warden/front.h"
#include "warden/front_send.h"
#include "warden/isolate.h"
#include "warden/layout.h"
#include "warden/notify.h"
#include "warden/pairs.h"
#include "warden/records.h"
#include "warden/registry.h"
#include "warden/service/agent.h"
#include "warden/service/egress.h"
#include "warden/service/oidc.h"
#include "warden/service/pull.h"
#include "warden/service/refusals.h"
#include "warden/service/service.h"
#include "warden/service/webhooks.h"
#include "warden/unit.h"
#include "warden/unit/bell.h"
#include "warden/unit/network.h"
#include "warden/volume.h"
#include "warden/warden.h"
#include "warden/warm.h"

#define TICK_MS 1000
#define DAEMON_NICE (-10)
/* for the front: it finishes its answers within three seconds, then writes its state */
#define STOP_GRACE_MS 15000
/* if paused sandboxes are to be killed, the front first writes their memory to disk, for a minute at most */
#define STOP_WRITES_MS 75000
#define UNKNOWN_FREE_MB 8192
#define SLOTS_SPARE 16   /* for sandboxes that are ending */
#define FILES_EACH 2     /* descriptors that the warden needs for a sandbox, */
#define FILES_BELL 2     /* and for its bell */
#define FILES_OTHER 1024 /* for all else */

struct programs {
	char front[PATH_MAX], egress[PATH_MAX], agent[PATH_MAX], init[PATH_MAX];
	int front_fd, egress_fd, agent_fd;
};

/* --- stopping ----------------------------------------------------------------------------------------------- */

static bool work_left(const struct warden *w)
{
	if (w->cfg.on_stop == STOP_KILL)
		return w->n_sandboxes > 0;
	const struct unit *sb;

	LIST_FOREACH(sb, &w->units, all)
	{
		/* a reason: it was killed and is about to end */
		if (sb->state != UNIT_RUNNING || sb->reason)
			return true;
	}
	return false;
}

void warden_settle(struct warden *w)
{
	if (!w->stopping || service_running(w->front))
		return;
	if (w->cfg.on_stop == STOP_KILL && !w->ended_all) {
		w->ended_all = true;
		units_kill_all(w); /* those that were left to the front */
	}
	if (work_left(w))
		return;
	if (service_running(w->agent)) {
		service_stop(w->agent, true);
		return;
	}
	if (service_running(w->egress)) { /* last: sandboxes may send queries until they are gone */
		service_stop(w->egress, true);
		return;
	}
	if (service_running(w->refusals.service)) {
		service_stop(w->refusals.service, true);
		return;
	}
	if (service_running(w->webhooks.service)) {
		service_stop(w->webhooks.service, true);
		return;
	}
	if (service_running(w->oidc.service)) {
		service_stop(w->oidc.service, true);
		return;
	}
	loop_stop(w->loop);
}

static void on_stop_late(void *user)
{
	struct warden *w = user;

	service_stop(w->front, true);
}

static void on_stop(void *user, int signo)
{
	struct warden *w = user;

	if (w->stopping)
		return;
	log_info("stopping", "signal=%d sandboxes=%u %s", signo, w->n_sandboxes,
	    w->cfg.on_stop == STOP_KEEP ? "keep" : "kill");
	w->stopping = true;
	notify_stopping(w->notify_fd);
	front_shutdown(w);
	service_stop(w->front, !w->link);
	units_cancel_queue(w);
	bool writes = w->cfg.on_stop == STOP_KILL && w->link && units_kill_running(w);

	timer_arm(w->stop_timer, writes ? STOP_WRITES_MS : STOP_GRACE_MS);
	warden_settle(w);
}

/* A stop that leaves no sandbox, whatever on_stop says: before the programs are removed. */
static void on_quit(void *user, int signo)
{
	struct warden *w = user;

	if (!w->stopping)
		w->cfg.on_stop = STOP_KILL;
	on_stop(w, signo);
}

/* Rereads the settings that may change, which is the log level; the others are in use. */
static void reread_config(struct warden *w)
{
	static struct config again; /* too large for the stack of a handler */
	char path[PATH_MAX + 16];
	char *argv[] = { "atolld", path, NULL };
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof path, "--config=%s", w->cfg.config);
	if (config_load(&again, 2, argv, &e) < 0) {
		log_warn("configuration not reloaded", "err=%s", e.text);
		return;
	}
	config_reload(&w->cfg, &again);
	log_set_level(w->cfg.log_level);
	front_set_log_level(w);
	log_info("log level reloaded", "level=%d", (int)w->cfg.log_level);
}

static void on_hup(void *user, int signo)
{
	struct warden *w = user;

	(void)signo;
	if (w->cfg.config[0])
		reread_config(w);
	if (w->tls_url[0])
		front_tls_files(w);
}

static void on_tick(void *user)
{
	struct warden *w = user;

	w->ops->tick(w->engine);
	egress_tick(w);
	refusals_tick(w);
	warm_tick(w->warm);
	pairs_tick(w->pairs);
	bells_tick(w);
	aside_reap_orphans();
	timer_arm(w->tick_timer, TICK_MS);
}

/* --- starting ----------------------------------------------------------------------------------------------- */

/* Step 1: directories, locks and a mount namespace. Changes nothing that another warden could be using. */
static int open_places(struct warden *w, struct err *e)
{
	struct config *c = &w->cfg;

	/* The daemons' work is short and clients wait for it, so it takes priority over the CPU time of
	 * sandboxes. Sandboxes do not inherit the priority (limits_ordinary()). */
	if (setpriority(PRIO_PROCESS, 0, DAEMON_NICE) < 0)
		log_warn("could not raise the scheduling priority", "errno=%d", errno);
	if (layout_dirs(c, e) < 0 || registry_take(REGISTRY_DIR, c->state, &w->instance, &w->registry_fd, e) < 0 ||
	    layout_pid_file(c, &w->pid_fd, e) < 0)
		return -e->no;
	isolate_host();
	if (isolate_mounts(e) < 0 || layout_records_dir(c, &w->records_dir, e) < 0 || layout_helper_states(c, e) < 0)
		return -e->no;
	refusals_listen(w);
	return doors_open(w, e);
}

static void choose_pool(struct config *c)
{
	struct statvfs fs;
	uint64_t free_mb = statvfs(c->state, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize >> 20 : UNKNOWN_FREE_MB;

	default_pool_sizes(free_mb, &c->pool_size_mb, &c->pool_max_mb);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int open_loop(struct warden *w, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	w->max_builders = cpus > 0 ? (uint32_t)cpus * 2 : 2;
	w->last_queued = &w->first_queued;
	w->loop = loop_new();
	if (!w->loop)
		return err_set(e, ENOMEM, "make the event loop");
	w->on_term = sigwatch_new(w->loop, SIGTERM, on_stop, w);
	w->on_int = sigwatch_new(w->loop, SIGINT, on_stop, w);
	w->on_quit = sigwatch_new(w->loop, SIGQUIT, on_quit, w);
	w->on_hup = sigwatch_new(w->loop, SIGHUP, on_hup, w);
	w->tick_timer = timer_new(w->loop, on_tick, w);
	w->stop_timer = timer_new(w->loop, on_stop_late, w);
	if (!w->on_term || !w->on_int || !w->on_quit || !w->on_hup || !w->tick_timer || !w->stop_timer ||
	    bells_begin(w) < 0)
		return err_set(e, ENOMEM, "make the event loop");
	return 0;
}

static rlim_t raise_files(rlim_t want)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= want)
		return want;
	struct rlimit more = { want, l.rlim_max > want ? l.rlim_max : want };

	return setrlimit(RLIMIT_NOFILE, &more) == 0 ? want : l.rlim_cur;
}

/* A sandbox takes a descriptor for its first process, one to be told of out-of-memory kills, and two for its bell.
 * Without enough for all, they are left out from the last to the second. */
static void open_files(struct warden *w)
{
	rlim_t want = UNIT_FDS + FILES_OTHER + (rlim_t)FILES_EACH * w->n_slots, least_files = FILES_OTHER + w->n_slots;
	rlim_t bells = raise_files(want + (rlim_t)FILES_BELL * w->n_slots);

	w->max_watched = w->n_slots;
	w->bells.max_open = bells <= want ? 0 : (uint32_t)((bells - want) / FILES_BELL);
	struct rlimit l = { .rlim_cur = raise_files(want) };

	if (l.rlim_cur >= want)
		return;
	if (l.rlim_cur < least_files) {
		log_warn("the limit of open files may be reached before max_sandboxes", "limit=%llu wanted=%llu",
		    (unsigned long long)l.rlim_cur, (unsigned long long)want);
		return;
	}
	w->max_watched = (uint32_t)least(w->n_slots, l.rlim_cur - least_files);
	if (w->max_watched < w->n_slots)
		log_warn("few open files are allowed: out-of-memory kills in some sandboxes are reported later",
		    "limit=%llu wanted=%llu watched=%u", (unsigned long long)l.rlim_cur, (unsigned long long)want,
		    w->max_watched);
}

/* Chooses the number of slots, and takes the areas of uids that they need. */
static int open_slots(struct warden *w, struct err *e)
{
	uint64_t spare = w->cfg.max_sandboxes / 4 + SLOTS_SPARE;
	uint32_t want = (uint32_t)least(SLOTS_MAX, w->cfg.max_sandboxes + spare), areas[SLOT_AREAS_EACH], n = 0;
	uint32_t want_areas = want <= SLOT_HOME ? 0 : (want - SLOT_HOME + SLOT_OF_AREA - 1) / SLOT_OF_AREA;

	if (registry_areas(REGISTRY_DIR, w->instance, w->registry_fd, want_areas, areas, &n, e) < 0)
		return -e->no;
	slot_areas_use(areas, n);
	w->n_slots = (uint32_t)least(want, slot_usable());
	if (w->n_slots < w->cfg.max_sandboxes)
		return err_set(e, ENOSPC,
		    "max_sandboxes = %llu needs %u areas of user ids, and the other servers of this machine leave %u: "
		    "lower it to %u, or stop one of them",
		    (unsigned long long)w->cfg.max_sandboxes, want_areas, n, w->n_slots);
	w->next_slot = (uint32_t)w->cfg.first_place % w->n_slots;
	if (w->n_slots < want)
		log_warn("few spare places for sandboxes: a start may have to wait for those that are ending",
		    "places=%u wanted=%u", w->n_slots, want);
	open_files(w);
	return 0;
}

/* -EPROTO: a sandbox runs with user ids that the registry does not give to this server. */
static int check_slot(struct warden *w, const struct engine_spec *sp, struct err *e)
{
	if (sp->slot >= slot_usable())
		return err_set(e, EPROTO,
		    "sandbox '%s' runs in place %u, whose user ids " REGISTRY_DIR " does not give to this server",
		    sp->id, sp->slot);
	if (sp->slot >= w->n_slots) /* an earlier warden allowed more */
		w->n_slots = sp->slot + 1;
	return 0;
}

/* Step 2: opens the engine with the list of sandboxes that already run, and adopts those. The engine's helper
 * that runs CRIU must be started before the warden filters its own system calls (see engine/ckpt/ckpt.h), and
 * the loop is created only after that (isolate.h). */
static int open_engine(struct warden *w, const char *init, struct err *e)
{
	struct record *list = NULL;
	struct engine_record *live = NULL;
	uid_t egress_uid;
	gid_t egress_gid;
	size_t n = 0;

	if (open_slots(w, e) < 0 || user_find(w->cfg.egress_user, &egress_uid, &egress_gid, e) < 0 ||
	    records_load(w->records_dir, &list, &n, e) < 0)
		return -e->no;
	live = calloc(n + 1, sizeof *live);
	for (size_t i = 0; live && i < n; i++) {
		live[i] = list[i].er;
		if (check_slot(w, &live[i].spec, e) < 0) {
			records_free(list, n);
			free(live);
			return -e->no;
		}
	}
	choose_pool(&w->cfg);
	struct engine_config ec = {
		.instance = w->instance,
		.max_sandboxes = w->n_slots,
		.state_dir = w->cfg.state,
		.run_dir = w->cfg.run,
		.cache_dir = w->cfg.cache,
		.init_path = init,
		.tools_key = w->cfg.tools,
		.storage_bytes = w->cfg.pool_size_mb << 20,
		.storage_max_bytes = w->cfg.pool_max_mb << 20,
		.no_storage = w->cfg.no_pool,
		.mem_total_bytes = w->cfg.mem_total_mb << 20,
		.keep_idle = w->cfg.idle_memory == IDLE_MEMORY_KEEP,
		.idle_to_disk = w->cfg.idle_memory == IDLE_MEMORY_SWAP,
		.idle_after_s = (uint32_t)w->cfg.idle_after_s,
		.idle_zram_bytes = w->cfg.idle_zram_mb << 20,
		.cpu_weight = (uint32_t)w->cfg.cpu_weight,
		.open_ranges = w->cfg.allow_private.v,
		.n_open_ranges = w->cfg.allow_private.n,
		.egress_uid = egress_uid,
		.proxy_port = LAYOUT_PROXY_PORT,
		.names_port = w->names_port,
		.names_door = LAYOUT_NAMES_PORT,
		.core_scheduling = w->cfg.core_scheduling,
		.no_view = !w->cfg.own_view,
		.tell_refusals = w->refusals.fd >= 0,
	};
	_Static_assert(TEMPLATES_MAX <= ENGINE_OWN_MAX, "the engine is told of all");
	for (uint32_t i = 0; i < w->cfg.n_templates && i < ENGINE_OWN_MAX; i++)
		ec.own_keys[i] = w->cfg.templates[i].key;
	int r = live ? w->ops->open(&ec, live, n, &w->engine, e) : err_set(e, ENOMEM, "out of memory");

	if (r == 0)
		isolate_places(w->n_slots);
	if (r == 0 && (isolate_calls(w->cfg.idle_zram_mb > 0, e) < 0 || open_loop(w, e) < 0)) {
		w->ops->close(w->engine, n == 0);
		w->engine = NULL;
		r = -e->no;
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		unit_adopt(w, &list[i]); /* takes over its policy */
	free(live);
	free(list);
	return r < 0 ? err_wrap(e, "open the %s engine", w->ops->name) : 0;
}

/* Opens the configured path, or else finds the name in libexec. */
static int find_program(const struct config *c, const char *given, const char *name, char path[PATH_MAX], int *ret_fd,
    struct err *e)
{
	if (!given[0])
		return layout_program(c->libexec, name, path, PATH_MAX, ret_fd, e);
	memcpy(path, given, PATH_MAX);
	return layout_open_program(path, ret_fd, e);
}

static int find_programs(const struct config *c, struct programs *p, struct err *e)
{
	autoclose int init_fd = -1; /* the engine copies the program by its path */

	if (find_program(c, c->front, "atoll-front", p->front, &p->front_fd, e) < 0 ||
	    find_program(c, c->egress, "atoll-egress", p->egress, &p->egress_fd, e) < 0 ||
	    find_program(c, c->agent, "atoll-agent", p->agent, &p->agent_fd, e) < 0 ||
	    find_program(c, c->init, "atoll-init", p->init, &init_fd, e) < 0)
		return -e->no;
	return 0;
}

/* Step 3: the last socket, then the warden's own confinement, then the helpers, so that the first start of a
 * helper is like every restart. */
static int open_helpers(struct warden *w, const struct programs *p, struct err *e)
{
	if (layout_gateway(w->instance, &w->dns_udp, &w->dns_tcp, &w->proxy, e) < 0 || isolate_power(e) < 0 ||
	    egress_open(w, p->egress_fd, p->egress, unit_told, e) < 0 || refusals_open(w, e) < 0 ||
	    agent_open(w, p->agent_fd, p->agent, e) < 0 || webhooks_open(w, e) < 0 || oidc_open(w, e) < 0)
		return -e->no;
	return front_open(w, p->front_fd, p->front, FRONT_STATE, e);
}

/* Takes the build time of a template from the modification time of `info`, which the build writes last. The
 * warden does not read the file. */
static void date_templates(struct config *c)
{
	char path[PATH_MAX + 64];
	struct stat st;

	for (uint32_t i = 0; i < c->n_templates; i++) {
		struct msg_template *t = &c->templates[i];

		(void)snprintf(path, sizeof path, "%s/templates/%s/info", c->cache, t->key);
		if (stat(path, &st) == 0)
			t->built_ms = (uint64_t)st.st_mtim.tv_sec * 1000;
	}
}

static int warden_open(struct warden *w, struct programs *p, struct err *e)
{
	if (geteuid() != 0)
		return err_set(e, EPERM, "must be started by root");
	if (inherited_core(e) < 0)
		return -e->no;
	if (inherited_no_new_privs())
		log_warn("started with no_new_privs: sudo and other set-uid programs will not work inside sandboxes",
		    "pid=%d", (int)getpid());
	date_templates(&w->cfg);
	if (find_programs(&w->cfg, p, e) < 0 || pull_open(w, e) < 0 || open_places(w, e) < 0 ||
	    open_engine(w, p->init, e) < 0 || open_helpers(w, p, e) < 0)
		return -e->no;
	w->warm = warm_new(w); /* last, so that its children inherit the confinement */
	w->pairs = pairs_new(w, units_run_queue);
	pull_tidy(w);
	timer_arm(w->tick_timer, TICK_MS);
	log_info("open", "instance=%u state=%s run=%s sandboxes=%u", w->instance, w->cfg.state, w->cfg.run,
	    w->n_sandboxes);
	return 0;
}

/* Closes whatever was opened so far. If the engine has no sandboxes, everything of the instance is removed;
 * otherwise it is left for the next warden. */
static void warden_close(struct warden *w)
{
	bool all = w->engine && w->n_sandboxes == 0;

	if (w->loop) {
		front_close(w);
		egress_close(w);
		agent_close(w);
		refusals_close(w);
		webhooks_close(w);
		oidc_close(w);
		warm_free(w->warm);
		pairs_free(take_ptr(&w->pairs));
		aside_leave();
		warden_volumes_free(w);
		units_free(w);
		bells_end(w);
		sigwatch_free(w->on_term);
		sigwatch_free(w->on_int);
		sigwatch_free(w->on_quit);
		sigwatch_free(w->on_hup);
		timer_free(w->tick_timer);
		timer_free(w->stop_timer);
	}
	if (w->engine)
		w->ops->close(w->engine, all);
	if (w->pid_fd >= 0) {
		char path[PATH_MAX + 16];

		(void)snprintf(path, sizeof path, "%s/warden.pid", w->cfg.run);
		(void)unlink(path);
	}
	if (w->registry_fd >= 0 && all) {
		layout_remove_run(&w->cfg);
		registry_release(REGISTRY_DIR, w->instance);
	}
	loop_free(w->loop);
}

int main(int argc, char **argv)
{
	static struct warden w = { .registry_fd = -1,
		.pid_fd = -1,
		.console_fd = -1,
		.dns_udp = -1,
		.dns_tcp = -1,
		.proxy = -1,
		.refusals = { .fd = -1, .exe_fd = -1 },
		.webhooks = { .exe_fd = -1 },
		.oidc = { .exe_fd = -1, .secret_fd = -1 },
		.pull = { .exe_fd = -1, .options = -1 },
		.records_dir = -1,
		.notify_fd = -1,
		.ops = &engine_host };
	static struct programs p = { .front_fd = -1, .egress_fd = -1, .agent_fd = -1 };
	struct err e = ERR_INIT;

	inherited_reset();
	inherited_pid_one();
	inherited_open_files();
	log_setup("atolld", LOG_LVL_INFO);
	if (config_load(&w.cfg, argc, argv, &e) < 0) {
		(void)fprintf(stderr, "atolld: %s\n", e.text);
		return 2;
	}
	if (w.cfg.help) {
		config_print_help();
		return 0;
	}
	if (w.cfg.version) {
		(void)printf("atolld %s\n", ATOLL_VERSION);
		return 0;
	}
	log_set_level(w.cfg.log_level);
	w.notify_fd = notify_open();
	if (chdir("/") < 0) /* only now: options may have named paths relative to the working directory */
		log_warn("could not change the working directory", "errno=%d", errno);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (warden_open(&w, &p, &e) < 0) {
		(void)fprintf(stderr, "atolld: %s\n", e.text);
		warden_close(&w);
		return 1;
	}
	loop_run(w.loop);
	warden_close(&w);
	log_info("stopped", "instance=%u", w.instance);
	return w.exit_code;
}
