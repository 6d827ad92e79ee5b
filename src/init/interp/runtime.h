/* SPDX-License-Identifier: Apache-2.0 */
/* interp_runtime: which program runs a language, from the manifests RUNTIMES_DIR/<folder>/runtime.json:
 *
 *	{"languages": {"javascript": ["js"], "typescript": ["ts"]},	canonical names and their aliases
 *	 "argv": ["/usr/bin/node", "/opt/atoll/runtimes/node/main.js"],
 *	 "user": "root",						whom it runs as; "root" when absent
 *	"takes_env": true, "rehearses": true, "takes_reseed": true,	understands the message "env", "rehearse",
 *	"reseed"
 *	"writes_apart": true,						each of its writes is a piece of output of its
 *	own
 *	 "needs": ["/usr/bin/javac"],					without these files it runs nothing
 *	 "kernels": ["/usr/share/jupyter/kernels"]}			each folder in there is a language, too */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define RUNTIMES_DIR "/opt/atoll/runtimes"

struct runtime {
	char *language; /* its canonical name */
	char *user;
	char **argv; /* one block */
	bool takes_env, rehearses, takes_reseed;
	bool writes_apart;
};

#define RUNTIME_INIT ((struct runtime) { 0 })

/* Names compare without case and surrounding blanks. -ENOENT: "Unsupported language: X". */
int runtime_find(const char *language, struct runtime *ret, struct err *e);

/* Does this manifest run the language? 1 with *ret, 0: no, -EINVAL: it is malformed. Pure. */
int runtime_match(const json_t *manifest, struct str language, struct runtime *ret);
void runtime_done(struct runtime *r);
