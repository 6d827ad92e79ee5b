/* SPDX-License-Identifier: Apache-2.0 */
/* sni: the name that a TLS client asks for, in the first bytes of a connection; and the one in a Host field. No I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "ipc/policy.h"

#define SNI_HELLO_MAX 16384               /* of the whole first message */
#define SNI_IN_MAX (SNI_HELLO_MAX + 4096) /* with the heads of the records that carry it */

enum sni_result { SNI_MORE, SNI_NONE, SNI_NAME };

/* Returns one of them, or -EBADMSG: not a ClientHello, or one that two readers could understand differently.
 * SNI_NAME: *ret is lower-case and has no dot at its end; what is no domain name (an address) counts as SNI_NONE. */
int sni_parse(struct str in, char ret[POLICY_NAME_SIZE]);

/* "Example.com:8080" -> "example.com". -EINVAL: an address, or nonsense. */
int host_parse(struct str value, char ret[POLICY_NAME_SIZE]);
