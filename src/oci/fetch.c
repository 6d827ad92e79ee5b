/* SPDX-License-Identifier: Apache-2.0 */
/* oci/fetch: the process that talks to registries or reads archives. It has no access to files: it passes what it
 * fetches through pipes to the keeper's storers. */
#include <curl/curl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "oci/pull.h"
#include "oci/registry.h"
#include "oci/report.h"

#define INDEX_DEPTH_MAX 3 /* of nested indexes */
#define PIPE_SIZE (1 << 20)

_Noreturn static void fail(int keeper, const struct err *e)
{
	struct fetch_msg m = { .kind = FETCH_FAIL };

	m.u.e = *e;
	(void)fd_send(keeper, &m, sizeof m, NULL, 0);
	_exit(1);
}

/* --- resolving --- */

/* Follows indexes from the reference to the manifest for this machine. */
static int find_manifest(struct registry *r, const struct pull_spec *sp, struct buf *text, struct digest *ret_digest,
    struct err *e)
{
	enum manifest_kind kind;
	struct blob next;

	if (registry_root(r, text, ret_digest, e) < 0)
		return -e->no;
	for (unsigned depth = 0; depth < INDEX_DEPTH_MAX; depth++) {
		if (manifest_kind(buf_view(text), &kind, e) < 0)
			return -e->no;
		if (kind == MANIFEST_IMAGE)
			return 0;
		if (manifest_choose(buf_view(text), &sp->platform, NULL, &next, e) < 0)
			return -e->no;
		if (next.size > MANIFEST_TEXT_MAX)
			return err_set(e, EFBIG, "the manifest is larger than %u bytes", MANIFEST_TEXT_MAX);
		if (registry_manifest(r, &next, text, e) < 0)
			return -e->no;
		*ret_digest = next.digest;
	}
	return err_set(e, ELOOP, "an index leads to an index more than %d times", INDEX_DEPTH_MAX);
}

static int registry_plan(struct registry *r, const struct pull_spec *sp, struct fetch_plan *ret,
    struct image_config *ret_config, struct err *e)
{
	autobuf struct buf text = BUF_INIT(MANIFEST_TEXT_MAX);
	static struct manifest m;

	if (find_manifest(r, sp, &text, &ret->manifest, e) < 0 || manifest_read(buf_view(&text), &m, e) < 0)
		return -e->no;
	if (registry_small_blob(r, &m.config, &text, e) < 0 ||
	    image_config_read(buf_view(&text), &sp->platform, ret_config, e) < 0)
		return -e->no;
	if (ret_config->n_diff_ids != m.n_layers)
		return err_set(e, EBADMSG, "the image has %u layers, but its configuration speaks of %u", m.n_layers,
		    ret_config->n_diff_ids);
	ret->n_layers = m.n_layers;
	for (uint32_t i = 0; i < m.n_layers; i++) {
		ret->layer[i] = (struct plan_layer) { .blob = m.layers[i],
			.diff_id = ret_config->diff_ids[i],
			.blob_known = true,
			.diff_known = true };
	}
	return 0;
}

static int check_sizes(const struct fetch_plan *p, uint64_t max_bytes, uint64_t *ret_sum, struct err *e)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->n_layers; i++) {
		if (p->layer[i].blob.size > max_bytes - sum)
			return err_set(e, EFBIG, "the image has more than %llu MiB",
			    (unsigned long long)(max_bytes >> 20));
		sum += p->layer[i].blob.size;
	}
	*ret_sum = sum;
	return 0;
}

/* --- layers --- */

/* Opens a pipe to a storer and sends its other end to the keeper. */
static int open_pipe(int keeper, uint32_t layer, struct err *e)
{
	struct fetch_msg m = { .kind = FETCH_PIPE, .layer = layer };
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0) {
		(void)err_sys(e, "make a pipe");
		return -1;
	}
	(void)fcntl(p[1], F_SETPIPE_SZ, PIPE_SIZE);
	ssize_t n = fd_send(keeper, &m, sizeof m, p, 1);

	(void)close(p[0]);
	if (n >= 0)
		return p[1];
	(void)close(p[1]);
	(void)err_set(e, EPIPE, "the keeper is gone");
	return -1;
}

struct work { /* shared by the workers */
	atomic_uint next;
};

_Noreturn static void worker(struct registry *r, const struct fetch_plan *p, const struct fetch_go *go, struct work *w,
    int keeper, pid_t fetcher)
{
	struct err e = ERR_INIT;
	uint32_t i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* not inherited by fork */
	if (getppid() != fetcher)
		_exit(1);
	if (registry_reopen(r, &e) < 0)
		fail(keeper, &e);
	while ((i = atomic_fetch_add(&w->next, 1)) < p->n_layers) {
		if (!go->need[i])
			continue;
		autoclose int fd = open_pipe(keeper, i, &e);

		if (fd < 0)
			fail(keeper, &e);
		if (registry_blob(r, &p->layer[i].blob, fd, &e) < 0) {
			(void)err_wrap(&e, "layer %u", i + 1);
			fail(keeper, &e);
		}
	}
	_exit(0);
}

static int run_workers(struct registry *r, const struct fetch_plan *p, const struct fetch_go *go, int keeper,
    struct err *e)
{
	struct work *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned needed = 0, n = 0;
	pid_t self = getpid();

	if (w == MAP_FAILED)
		return err_sys(e, "share memory");
	for (uint32_t i = 0; i < p->n_layers; i++)
		needed += go->need[i];
	for (; n < needed && n < PULL_WORKERS; n++) {
		pid_t pid = fork();

		if (pid == 0)
			worker(r, p, go, w, keeper, self);
		if (pid < 0)
			return err_sys(e, "fork");
	}
	while (wait(NULL) > 0 || errno == EINTR) /* a worker that fails reports to the keeper itself */
		;
	return 0;
}

static int bring_local(struct pull_spec *sp, const struct fetch_plan *p, const struct fetch_go *go, int keeper,
    struct err *e)
{
	for (uint32_t i = 0; i < p->n_layers; i++) {
		if (!go->need[i])
			continue;
		autoclose int fd = open_pipe(keeper, i, e);

		if (fd < 0)
			return -e->no;
		if (fetch_local_layer(sp, i, p, fd, e) < 0)
			return err_wrap(e, "layer %u", i + 1);
	}
	return 0;
}

_Noreturn void fetch_main(struct pull_spec *sp, int keeper, int talk)
{
	static struct fetch_msg m = { .kind = FETCH_PLAN };
	struct image_config config = { 0 };
	struct err e = ERR_INIT;
	struct registry *r = NULL;
	struct fetch_go go;
	uint64_t bytes = 0;
	size_t n_fds;
	int rc;

	if (sp->source == PULL_REGISTRY) {
		const struct registry_spec rs = { &sp->policy, &sp->ref, &sp->creds, sp->stall_s };

		r = registry_new(&rs, &e);
		rc = r ? registry_plan(r, sp, &m.u.plan, &config, &e) : -e.no;
	} else {
		rc = fetch_local_plan(sp, &m.u.plan, &config, &e);
	}
	if (rc < 0 || check_sizes(&m.u.plan, sp->max_bytes, &bytes, &e) < 0)
		fail(keeper, &e);
	report_resolved(talk, &m.u.plan.manifest, m.u.plan.n_layers, bytes);
	if (config.run)
		report_config(talk, config.run);
	if (fd_send(keeper, &m, sizeof m, NULL, 0) < 0 || fd_recv(keeper, &go, sizeof go, NULL, 0, &n_fds) != sizeof go)
		_exit(0); /* the keeper has everything it needs */
	rc = r ? run_workers(r, &m.u.plan, &go, keeper, &e) : bring_local(sp, &m.u.plan, &go, keeper, &e);
	if (rc < 0)
		fail(keeper, &e);
	_exit(0);
}
