/* SPDX-License-Identifier: Apache-2.0 */
/* sni: the server name in a TLS ClientHello, and the host name in a Host field. No I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "ipc/policy.h"

#define SNI_HELLO_MAX 16384               /* size of the whole ClientHello */
#define SNI_IN_MAX (SNI_HELLO_MAX + 4096) /* including the headers of its records */

enum sni_result { SNI_MORE, SNI_NONE, SNI_NAME };

/* Returns a sni_result, or -EBADMSG: not a ClientHello, or one that two parsers could read differently. SNI_NAME:
 * *ret is in lower case, without a trailing dot. A value that is not a domain name (an address) counts as
 * SNI_NONE. */
int sni_parse(struct str in, char ret[POLICY_NAME_SIZE]);

/* "Example.com:8080" -> "example.com". -EINVAL: an address, or malformed. */
int host_parse(struct str value, char ret[POLICY_NAME_SIZE]);
