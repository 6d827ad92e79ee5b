/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/oidc: the messages between the front and atoll-oidc, which talks to the OpenID provider, and the rules that give
 * its users a role.
 *
 * A SOCK_SEQPACKET socketpair that the warden creates for the two and does not keep. One struct oi_ask per packet, each
 * answered by one struct oi_done with its seq, in any order. A peer that sends anything else is disconnected. The front
 * sees no token of the provider: it learns who the user is, and which role the rules give. Text is NUL-terminated,
 * printable, and padded with zeros. The warden passes the socket to atoll-oidc with OI_FRONT and one fd. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define OI_VERSION 1
#define OI_TOKEN_SIZE 33    /* state and nonce */
#define OI_VERIFIER_SIZE 65 /* of PKCE */
#define OI_BACK_SIZE 512    /* the page that the provider sends the browser back to */
#define OI_CODE_SIZE 2048
#define OI_ISSUER_SIZE 512
#define OI_URL_SIZE 4096
#define OI_USER_SIZE 128
#define OI_SUBJECT_SIZE 256
#define OI_TEAM_SIZE 64
#define OI_TEXT_SIZE 240
#define OI_ASKS_MAX 32 /* in progress for the front at once */

enum oi_type {
	OI_FRONT = 1,  /* struct oi_head and one fd, from the warden */
	OI_BEGIN = 2,  /* where the browser logs in: state, nonce, verifier, back */
	OI_FINISH = 3, /* who logged in: nonce, verifier, back, code, issuer */
	OI_END = 4,    /* where the browser logs out: back */
	OI_DONE = 64,
};

enum oi_outcome {
	OI_OK,
	OI_AWAY,    /* the provider cannot be asked, or makes no sense */
	OI_REFUSED, /* the code or the token is not good */
	OI_NO_ROLE, /* the user is known and may not log in */
	OI_OUTCOMES,
};

enum oi_role { OI_VIEWER, OI_MEMBER, OI_ADMIN, OI_ROLES };

struct oi_head {
	uint16_t version;
	uint16_t type;
	uint32_t seq;
};

struct oi_ask {
	struct oi_head head;
	char state[OI_TOKEN_SIZE], nonce[OI_TOKEN_SIZE], verifier[OI_VERIFIER_SIZE];
	char back[OI_BACK_SIZE], code[OI_CODE_SIZE];
	char issuer[OI_ISSUER_SIZE]; /* as the provider told the browser; "": it did not */
	uint8_t pad[5];
};

struct oi_done {
	struct oi_head head;
	uint32_t outcome;      /* enum oi_outcome */
	uint32_t role;         /* enum oi_role */
	char url[OI_URL_SIZE]; /* "": the provider has no such page */
	char user[OI_USER_SIZE], subject[OI_SUBJECT_SIZE];
	char team[OI_TEAM_SIZE]; /* name or id; "": the default team */
	char text[OI_TEXT_SIZE]; /* the error */
};

int oi_ask_check(const void *p, size_t n, struct oi_ask *ret); /* -EBADMSG */
int oi_done_check(const void *p, size_t n, struct oi_done *ret);

/* --- the setting oidc_roles: "group:NAME=ROLE, user:NAME=ROLE@TEAM, *=ROLE" --- */

struct oidc_rule {
	enum { OIDC_GROUP, OIDC_USER, OIDC_ALL } kind;
	struct str who; /* points into the list */
	enum oi_role role;
	struct str team; /* n == 0: the default team */
};

/* The first rule of the list, which it removes. 1: there is one; 0: none is left; -EINVAL: *ret_bad is none. */
int oidc_rule_next(struct str *list, struct oidc_rule *ret, struct str *ret_bad);

/* Checks what the operator has written: issuer, client and rules. */
int oidc_settings_check(const char *issuer, const char *client, const char *roles, struct err *e);

/* Whether the URL names this machine by a loopback address, so that plain HTTP shows nothing to others. */
bool oidc_url_is_local(struct str url);
