/* SPDX-License-Identifier: Apache-2.0 */
/* net_cap: writes the two firewall objects of one slot. */
#include "engine/net/cap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/fd.h"
#include "engine/cgroup/impl.h"
#include "engine/net/nft.h"
#include "engine/slot.h"

#define TEXT_MAX 4096
#define BURST_MIN (64u << 10) /* some full packets of a link with segmentation offload */

static void put_element(struct buf *out, const char *verb, uint32_t n, uint32_t k, const char *map, char object)
{
	buf_fmt(out, "%s element inet atoll%u %s { \"at%us%u\"", verb, n, map, n, k);
	if (object)
		buf_fmt(out, " : \"%c%u\"", object, k);
	buf_z(out, " }\n");
}

static void put_quota(struct buf *out, uint32_t n, uint32_t k, uint64_t bytes, uint64_t used)
{
	buf_fmt(out, "add quota inet atoll%u q%u { over %" PRIu64 " bytes used %" PRIu64 " bytes }\n", n, k, bytes,
	    used);
	put_element(out, "add", n, k, "capped", 'q');
}

/* The burst is one second's worth. */
static void put_limit(struct buf *out, uint32_t n, uint32_t k, uint64_t bytes_s)
{
	buf_fmt(out, "add limit inet atoll%u r%u { rate over %" PRIu64 " bytes/second burst %" PRIu64 " bytes }\n", n,
	    k, bytes_s, (uint64_t)(bytes_s < BURST_MIN ? BURST_MIN : bytes_s));
	put_element(out, "add", n, k, "paced", 'r');
}

/* Adding an existing object is no error, but deleting a missing one is. So each is added before it is deleted. */
void net_cap_text(struct buf *out, uint32_t instance, uint32_t slot, const struct net_cap *cap)
{
	put_quota(out, instance, slot, 1, 0);
	put_element(out, "delete", instance, slot, "capped", 0);
	buf_fmt(out, "delete quota inet atoll%u q%u\n", instance, slot);
	put_limit(out, instance, slot, 1);
	put_element(out, "delete", instance, slot, "paced", 0);
	buf_fmt(out, "delete limit inet atoll%u r%u\n", instance, slot);
	if (cap->bytes)
		put_quota(out, instance, slot, cap->bytes, cap->used_bytes);
	if (cap->bytes_s)
		put_limit(out, instance, slot, cap->bytes_s);
}

int net_cap_set(uint32_t instance, uint32_t slot, const struct net_cap *cap, struct err *e)
{
	autobuf struct buf b = BUF_INIT(TEXT_MAX);

	net_cap_text(&b, instance, slot, cap);
	const char *text = buf_cstr(&b);

	if (!text)
		return err_set(e, ENOMEM, "limit what it sends");
	return nft_run(text, e) < 0 ? err_wrap(e, "limit what it sends") : 0;
}

int net_count(const struct slot *s, uint64_t *ret_sent, uint64_t *ret_received)
{
	char path[96];
	int r;

	/* What the sandbox sends is what the host's end receives. */
	(void)snprintf(path, sizeof path, "/sys/class/net/%s/statistics/rx_bytes", s->veth);
	r = cgroup_number(AT_FDCWD, NULL, path, ret_sent);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof path, "/sys/class/net/%s/statistics/tx_bytes", s->veth);
	return cgroup_number(AT_FDCWD, NULL, path, ret_received);
}
