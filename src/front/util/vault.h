/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/vault: encrypts values that must not be readable in the state file, with a key in a separate file
 * (AES-256-GCM).
 *
 * Each ciphertext is bound to a label that names its purpose and owner, so that it cannot be moved to another
 * place. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct vault;

#define VAULT_SEED_SIZE 32

/* Reads the key file in dir, or creates it (mode 0600). */
int vault_open(const char *dir, struct vault **ret, struct err *e);
void vault_free(struct vault *v); /* NULL is fine */

/* out->bad is set on failure. */
void vault_seal(const struct vault *v, struct str label, struct str text, struct buf *out);
int vault_unseal(const struct vault *v, struct str label, struct str sealed,
    struct buf *out); /* -EBADMSG: not encrypted with this key and label, or modified */

/* Derives bytes from the key and the label. They reveal neither. */
void vault_derive(const struct vault *v, struct str label, uint8_t ret[VAULT_SEED_SIZE]);
