/* SPDX-License-Identifier: Apache-2.0 */
/* criu_unused: a library for CRIU alone, embedded in atolld (criu_preload_image.c). During a restore it takes the place
 * of the libraries for TLS and for nftables, which CRIU is linked against and a restore has no use for. They and what
 * they need themselves are four fifths of CRIU's address space, which each restore would load, and each of CRIU's
 * forks would copy.
 *
 * CRIU resolves a function when it calls it, so only data has to be here. */

void (*gnutls_free)(void *memory); /* copied into CRIU when it starts */
