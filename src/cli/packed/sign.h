/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/sign: ed25519 signatures of manifests, with keys in PEM files as openssl(1) writes them. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SIGNATURE_BYTES 64
#define TRUSTED_KEYS_DIR "/etc/atoll/template-keys"

int sign_text(const char *private_key_file, struct str text, unsigned char ret[SIGNATURE_BYTES], struct err *e);

/* Verifies with the key in the file, or with any key (*.pem) of the directory. -EKEYREJECTED: none of them made the
 * signature. -ENOKEY: there is none. */
int sign_verify(const char *keys, struct str text, struct str signature, struct err *e);
