/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/proxies: requests and tunnels into sandboxes in progress. */
#pragma once

#include <stdint.h>

struct accounts;
struct debug;
struct lane;
struct lanes;
struct links;
struct records;
struct sandboxes;

struct proxies {
	struct links *link;
	struct accounts *account;
	struct records *record;
	struct sandboxes *sandbox;
	struct debug *debug; /* NULL without debug ports */
	struct lanes *lanes; /* NULL: there is no other thread */
	struct lane *lane;   /* NULL: the main thread */
	uint32_t tunnels;    /* upgraded connections */
	uint32_t exchanges;  /* requests */
};
