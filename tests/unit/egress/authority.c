/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/authority: who trusts the one of a seed trusts its hosts, in this life and the next, and no
 * others. */
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "egress/authority.h"
#include "unit.h"

static const uint8_t seed_a[RULES_SEED_SIZE] = "one seed", seed_b[RULES_SEED_SIZE] = "another", zero[RULES_SEED_SIZE],
		     ones[RULES_SEED_SIZE] = {
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
			     255,
		     };

static X509 *read_pem(const char *pem)
{
	BIO *b = BIO_new_mem_buf(pem, -1);
	X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);

	BIO_free(b);
	assert_non_null(x);
	return x;
}

/* Does a client that trusts only `pem` take what the authority shows for that host? */
static bool trusted(const char *pem, struct authority *a, const char *host, const char *asked)
{
	SSL *ssl = authority_accept(a, host);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *c = X509_STORE_CTX_new();
	X509 *ca = read_pem(pem);

	assert_non_null(ssl);
	assert_int_equal(X509_STORE_add_cert(store, ca), 1);
	assert_int_equal(X509_STORE_CTX_init(c, store, SSL_get_certificate(ssl), NULL), 1);
	(void)X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(c), asked, 0);
	(void)X509_STORE_CTX_set_purpose(c, X509_PURPOSE_SSL_SERVER);
	bool well = X509_verify_cert(c) == 1;

	X509_STORE_CTX_free(c);
	X509_STORE_free(store);
	X509_free(ca);
	SSL_free(ssl);
	return well;
}

static void hosts_are_trusted_by_their_name(void **state)
{
	struct authority *a = authority_new(seed_a, "ione"), *b = authority_new(seed_b, "itwo");

	(void)state;
	assert_non_null(a);
	assert_true(trusted(authority_pem(a), a, "api.a.com", "api.a.com"));
	assert_true(trusted(authority_pem(a), a, "api.a.com", "api.a.com")); /* the one that is kept */
	assert_false(trusted(authority_pem(a), a, "api.a.com", "b.a.com"));
	assert_false(trusted(authority_pem(b), a, "api.a.com", "api.a.com"));
	authority_free(a);
	authority_free(b);
}

static void the_next_life_is_the_same_authority(void **state)
{
	struct authority *a = authority_new(seed_a, "ione");
	char pem[RULES_PEM_MAX];

	(void)state;
	memcpy(pem, authority_pem(a), strlen(authority_pem(a)) + 1);
	authority_free(a);
	a = authority_new(seed_a, "ione");
	assert_true(trusted(pem, a, "api.a.com", "api.a.com"));
	authority_free(a);
}

static void every_seed_makes_one(void **state)
{
	char name[254];

	(void)state;
	memset(name, 'a', sizeof name - 1);
	for (size_t i = 63; i < sizeof name; i += 64)
		name[i] = '.';
	name[253] = '\0';
	for (int i = 0; i < 2; i++) {
		struct authority *a = authority_new(i ? ones : zero, "ione");

		assert_non_null(a);
		assert_true(trusted(authority_pem(a), a, name, name));
		for (int k = 0; k < 25; k++) {
			(void)snprintf(name, sizeof name, "h%d.a.com", k);
			assert_true(trusted(authority_pem(a), a, name, name));
		}
		authority_free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_trusted_by_their_name),
		cmocka_unit_test(the_next_life_is_the_same_authority),
		cmocka_unit_test(every_seed_makes_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
