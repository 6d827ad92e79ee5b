/* SPDX-License-Identifier: Apache-2.0 */
/* interp_runtime: the program that runs a language, from the manifests RUNTIMES_DIR/<folder>/runtime.json:
 *
 *	{"languages": {"javascript": ["js"], "typescript": ["ts"]},	canonical names and their aliases
 *	 "argv": ["/usr/bin/node", "/opt/atoll/runtimes/node/main.js"],
 *	 "user": "root",			the user it runs as; "root" if absent
 *	 "takes_env": true,			understands the message "env",
 *	 "rehearses": true,			"rehearse",
 *	 "takes_reseed": true,			"reseed"
 *	 "writes_apart": true,			each write is a separate piece of output
 *	 "needs": ["/usr/bin/javac"],		unusable without these files
 *	 "kernels": ["/usr/share/jupyter/kernels"]}	each folder in there is a language, too */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define RUNTIMES_DIR "/opt/atoll/runtimes"

struct runtime {
	char *language; /* canonical name */
	char *user;
	char **argv; /* one malloc'd block */
	bool takes_env, rehearses, takes_reseed;
	bool writes_apart;
};

#define RUNTIME_INIT ((struct runtime) { 0 })

/* Names are compared without case and surrounding blanks. -ENOENT: "Unsupported language: X". */
int runtime_find(const char *language, struct runtime *ret, struct err *e);

/* Checks whether the manifest runs the language: 1 with *ret, 0: no, -EINVAL: malformed. Pure. */
int runtime_match(const json_t *manifest, struct str language, struct runtime *ret);
void runtime_done(struct runtime *r);
