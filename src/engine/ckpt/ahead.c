/* SPDX-License-Identifier: Apache-2.0 */
/* ahead: reads into memory what restores are going to need, in a child of atoll-ckpt.
 *
 * After a restart of the server, the zygotes are new, and so are the files with their memory. A checkpoint from before
 * needs the file of its own zygote, which nothing has read since the storage was mounted: some thirty megabytes, ten
 * times as much as the checkpoint. Few such files are shared by many checkpoints. So they are put back and read once
 * the new zygotes are ready, and the first restore finds them in the page cache, like every later one. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/ckpt/ckpt.h"
#include "engine/ckpt/image.h"
#include "engine/disk/storage.h"
#include "engine/ns.h"
#include "engine/zygote/base.h"

#define BASES_MAX 4    /* of one template */
#define LOOKS_MAX 4096 /* checkpoints that are looked at */

struct ahead {
	struct engine *en;
	const char *template_key;
	char bases[BASES_MAX][BASE_NAME_SIZE];
	size_t n_bases, n_looks;
};

static bool is_known(const struct ahead *a, const char *name)
{
	for (size_t i = 0; i < a->n_bases; i++) {
		if (strcmp(a->bases[i], name) == 0)
			return true;
	}
	return false;
}

static void take(void *arg, const char *name, bool disk, bool memory)
{
	struct ahead *a = arg;
	struct image_record record;
	struct base_found b;
	struct err ignored = ERR_INIT;
	autoclose int image = -1;

	if (!disk || !memory || a->n_bases == BASES_MAX || a->n_looks == LOOKS_MAX)
		return;
	a->n_looks++;
	if (storage_kept_memory(a->en->storage, name, &image, &ignored) < 0 ||
	    image_read_record(image, &record, &ignored) < 0 || strcmp(record.spec.template_key, a->template_key) != 0 ||
	    base_open(a->en->bases_fd, image, &b, &ignored) < 0 || b.fd < 0)
		return;
	if (!is_known(a, b.name)) {
		base_fetch_use(image, b.fd);
		memcpy(a->bases[a->n_bases++], b.name, sizeof b.name);
	}
	fd_close(b.fd);
}

void ahead_run(struct engine *en, const char *template_key)
{
	struct ahead a = { .en = en, .template_key = template_key };
	struct err e = ERR_INIT;
	uint64_t began = clock_mono_ms();

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* nobody else waits for it */
	(void)setpriority(PRIO_PROCESS, 0, 19);
	if (en->bases_fd < 0)
		return;
	if (storage_kept(en->storage, take, &a, &e) < 0)
		log_warn("cannot read ahead for resumes", "template=%.8s why=%s", template_key, e.text);
	log_debug("read ahead for resumes", "template=%.8s files=%zu checkpoints=%zu ms=%llu", template_key, a.n_bases,
	    a.n_looks, (unsigned long long)(clock_mono_ms() - began));
}
