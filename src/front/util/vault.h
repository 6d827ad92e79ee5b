/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/vault: what must not be readable in the state file: sealed with a key that stands in a file of its own
 * (AES-256-GCM).
 *
 * Each sealed text is bound to a label that says what it is and whose, so that one cannot be put in the place of
 * another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct vault;

#define VAULT_SEED_SIZE 32

/* Reads the key file in dir, or makes one (mode 0600). */
int vault_open(const char *dir, struct vault **ret, struct err *e);
void vault_free(struct vault *v); /* NULL is fine */

/* out->bad: it did not work */
void vault_seal(const struct vault *v, struct str label, struct str text, struct buf *out);
int vault_unseal(const struct vault *v, struct str label, struct str sealed,
    struct buf *out); /* -EBADMSG: not ours, or changed */

/* Bytes that follow from the key and the label, and from which neither follows. */
void vault_derive(const struct vault *v, struct str label, uint8_t ret[VAULT_SEED_SIZE]);
