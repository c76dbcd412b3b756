"""Observability, content, customers, identity and everything else that is rented."""

from __future__ import annotations

from interpose.reading.secrets.kinds.kind import Kind

KINDS = (
    Kind("adafruit-key", r"aio_[0-9A-Za-z]{28}\b"),
    Kind("adobe-secret", r"p8e-[0-9A-Za-z]{32}\b", needs="d"),
    Kind("airtable-token", r"pat[0-9A-Za-z]{14}\.[0-9a-f]{64}"),
    Kind("asana-token", r"[12]/[0-9]{10,}(?:/[0-9]{10,})?:[0-9a-f]{32}", gate=r"[0-9]:[0-9a-f]{32}"),
    Kind("authress-key", r"(?:sc|ext|scauth|authress)_[0-9A-Za-z]{5,30}\.[0-9A-Za-z]{4,6}\.acc[_-]"
         r"[0-9A-Za-z-]{10,32}\.[0-9A-Za-z+/_=-]{30,120}"),
    Kind("axiom-token", r"xa[ap]t-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    Kind("bitwarden-token", r"0\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.[0-9A-Za-z]{30}:"
         r"[0-9A-Za-z+/]{22}=="),
    Kind("clickup-token", r"pk_[0-9]{6,8}_[0-9A-Z]{32}\b"),
    Kind("contentful-token", r"CFPAT-[0-9A-Za-z_-]{43}"),
    Kind("dropbox-token", r"sl\.(?:u\.)?[0-9A-Za-z_=-]{120,}"),
    Kind("dropbox-long-lived-token", r"[0-9a-z]{11}AAAAAAAAAA[0-9A-Za-z_=-]{43}", gate=r"AAAAAAAAAA[0-9A-Za-z_=-]{43}"),
    Kind("duo-key", r"DI[0-9A-Z]{18}\b", needs="d"),
    Kind("dynatrace-token", r"(?i:dt0[a-z][0-9]{2}\.[0-9a-z]{24}\.[0-9a-z]{64})"),
    Kind("elastic-key", r"essu_[0-9A-Za-z+/=_-]{40,}"),
    Kind("frameio-token", r"fio-u-[0-9A-Za-z_=-]{64}"),
    Kind("grafana-cloud-token", r"glc_[0-9A-Za-z+/]{32,}={0,3}"),
    Kind("grafana-key", r"eyJrIjoi[0-9A-Za-z]{70,}={0,3}"),
    Kind("grafana-service-token", r"glsa_[0-9A-Za-z]{32}_[0-9A-Fa-f]{8}"),
    Kind("honeycomb-key", r"hc[a-z]ik_[0-9a-z]{58}"),
    Kind("hubspot-token", r"pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    Kind("intra42-secret", r"s-s4t2(?:ud|af)-[0-9a-f]{64}"),
    Kind("klaviyo-key", r"pk_[0-9a-f]{34}\b"),
    Kind("linear-key", r"lin_api_[0-9A-Za-z]{40}"),
    Kind("linear-oauth-token", r"lin_oauth_[0-9a-f]{64}"),
    Kind("mapbox-token", r"[sp]k\.(?:eyJ)?[0-9A-Za-z_-]{50,}\.[0-9A-Za-z_-]{22}\b"),
    Kind("maxmind-key", r"[0-9A-Za-z]{6}_[0-9A-Za-z]{29}_mmk\b", gate=r"_mmk\b"),
    Kind("newrelic-browser-key", r"(?i:nrjs-[0-9a-f]{19})\b"),
    Kind("newrelic-insert-key", r"(?i:nri[iq]-[0-9a-z_-]{32})\b"),
    Kind("newrelic-license-key", r"[0-9a-f]{36}NRAL\b", gate=r"NRAL\b"),
    Kind("newrelic-user-key", r"(?i:nrak-[0-9a-z]{27})\b"),
    Kind("notion-old-token", r"secret_[0-9A-Za-z]{43}\b", needs="dlu"),
    Kind("notion-token", r"ntn_[0-9]{11}[0-9A-Za-z]{35}"),
    Kind("onepassword-secret-key", r"A3-[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})-[0-9A-Z]{5}-"
         r"[0-9A-Z]{5}-[0-9A-Z]{5}\b",
         unless=r"[AX3-]+"),
    Kind("onepassword-service-token", r"ops_eyJ[0-9A-Za-z+/_-]{200,}={0,3}"),
    Kind("posthog-personal-key", r"ph[xs]_[0-9A-Za-z]{40,}"),
    Kind("salesforce-session", r"00D[0-9A-Za-z]{12,15}![0-9A-Za-z._]{60,}"),
    Kind("segment-token", r"sgp_[0-9A-Za-z]{64}\b"),
    Kind("sentry-org-token", r"sntrys_eyJ[0-9A-Za-z+/=_-]{40,}"),
    Kind("sentry-user-token", r"sntryu_[0-9a-f]{64}"),
    Kind("settlemint-application-token", r"sm_aat_[0-9A-Za-z]{16}"),
    Kind("settlemint-personal-token", r"sm_pat_[0-9A-Za-z]{16}"),
    Kind("settlemint-service-token", r"sm_sat_[0-9A-Za-z]{16}"),
    Kind("snyk-token", r"snyk_[us]at\.[0-9a-f]{8}\.[0-9A-Za-z_.-]{20,}"),
    Kind("stytch-secret", r"secret-(?:test|live)-[0-9A-Za-z_=-]{36,}"),
    Kind("typeform-token", r"tfp_[0-9A-Za-z_.=-]{59}"),
    Kind("zoho-token", r"1000\.[0-9a-f]{32}\.[0-9a-f]{32}"),
)  # fmt: skip
