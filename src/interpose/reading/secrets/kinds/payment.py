"""Payment, shops, banking and coins."""

from __future__ import annotations

from interpose.reading.secrets.kinds.kind import Kind

KINDS = (
    Kind("alchemy-key", r"alcht_[0-9A-Za-z]{30}\b"),
    Kind("bitcoin-extended-key", r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{107}\b", gate=r"prv[1-9A-HJ-NP-Za-km-z]{107}"),
    Kind("braintree-token", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    Kind("checkout-key", r"sk_(?:sbox_)?[a-z2-7]{26}[a-z2-7*#$=]", needs="d"),
    Kind("coinbase-key-name", r"organizations/[0-9a-f-]{36}/apiKeys/(?P<secret>[0-9a-f-]{36})"),
    Kind("duffel-token", r"duffel_(?:test|live)_[0-9A-Za-z_=-]{43}"),
    Kind("easypost-key", r"EZAK[0-9A-Za-z]{54}\b"),
    Kind("easypost-test-key", r"EZTK[0-9A-Za-z]{54}\b"),
    Kind("flutterwave-encryption-key", r"FLWSECK_TEST-[0-9a-h]{12}\b"),
    Kind("flutterwave-public-key", r"FLWPUBK_TEST-[0-9a-h]{32}-X"),
    Kind("flutterwave-secret-key", r"FLWSECK(?:_TEST)?-[0-9a-h]{32}-X"),
    Kind("lob-key", r"(?:live|test)_[0-9a-f]{35}\b"),
    Kind("lob-public-key", r"(?:live|test)_pub_[0-9a-f]{31}\b"),
    Kind("mollie-key", r"(?:live|test)_[0-9A-Za-z]{30}\b", needs="dlu"),
    Kind("paddle-key", r"pdl_(?:live|sdbx)_apikey_[0-9a-z]{26}_[0-9A-Za-z]{22}_[0-9A-Za-z]{3}"),
    Kind("plaid-access-token", r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-"
         r"[0-9a-f]{12}"),
    Kind("razorpay-key", r"rzp_(?:live|test)_[0-9A-Za-z]{14,}"),
    Kind("shippo-token", r"shippo_(?:live|test)_[0-9A-Fa-f]{40}"),
    Kind("shopify-custom-token", r"shpca_[0-9A-Fa-f]{32}"),
    Kind("shopify-private-token", r"shppa_[0-9A-Fa-f]{32}"),
    Kind("shopify-shared-secret", r"shpss_[0-9A-Fa-f]{32}"),
    Kind("shopify-theme-token", r"shptka_[0-9A-Fa-f]{32}"),
    Kind("shopify-token", r"shpat_[0-9A-Fa-f]{32}"),
    Kind("square-access-token", r"(?:EAAA|sq0atp-)[0-9A-Za-z_-]{22,60}\b", needs="dlu"),
    Kind("square-secret", r"sq0csp-[0-9A-Za-z_-]{43}"),
    Kind("stripe-key", r"(?:sk|rk)_(?:test|live|prod)_[0-9A-Za-z]{10,}"),
    Kind("stripe-webhook-secret", r"whsec_[0-9A-Za-z+/=]{32,}"),
)  # fmt: skip
