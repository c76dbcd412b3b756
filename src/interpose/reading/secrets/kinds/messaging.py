"""Chat, mail, phone and social networks."""

from __future__ import annotations

from interpose.reading.secrets.kinds.kind import Kind

KINDS = (
    Kind("discord-bot-token", r"[MNO][0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40}\b",
         needs="dlu", gate=r"[0-9A-Za-z_-]\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27}"),
    Kind("discord-webhook", r"discord(?:app)?\.com/api/webhooks/(?P<secret>[0-9]{17,20}/[0-9A-Za-z_-]{60,})"),
    Kind("facebook-access-token", r"[0-9]{15,16}(?:\||%7[Cc])[0-9A-Za-z_-]{27,40}\b",
         gate=r"[0-9](?:\||%7[Cc])[0-9A-Za-z_-]{27}"),
    Kind("facebook-page-token", r"EAA[MC][0-9A-Za-z]{100,}"),
    Kind("google-chat-webhook", r"chat\.googleapis\.com/v1/spaces/[0-9A-Za-z_-]+/messages\?(?P<secret>key="
         r"[^\s\"'\\<>]{40,})"),
    Kind("ifttt-webhook", r"maker\.ifttt\.com/trigger/[^\s/]+/with/key/(?P<secret>[0-9A-Za-z_-]{20,})"),
    Kind("instagram-token", r"IG(?:QV|QW|AA)[0-9A-Za-z_-]{100,}"),
    Kind("linkedin-secret", r"WPL_AP[0-9]\.[0-9A-Za-z]{10,}\.[0-9A-Za-z+/=]{4,}"),
    Kind("mailchimp-key", r"[0-9a-f]{32}-us[0-9]{1,2}\b", gate=r"[0-9a-f]-us[0-9]{1,2}\b"),
    Kind("mailgun-key", r"key-[0-9a-f]{32}\b"),
    Kind("mailgun-public-key", r"pubkey-[0-9a-f]{32}\b"),
    Kind("mailgun-signing-key", r"[0-9a-h]{32}-[0-9a-h]{8}-[0-9a-h]{8}\b", gate=r"[0-9a-h]-[0-9a-h]{8}-[0-9a-h]{8}\b"),
    Kind("mandrill-key", r"md-[0-9A-Za-z_-]{22}\b", needs="dlu"),
    Kind("matrix-token", r"syt_[0-9A-Za-z+/=_-]{4,}_[0-9A-Za-z]{20}_[0-9A-Za-z]{6}"),
    Kind("pinterest-token", r"pina_[0-9A-Z]{60,}"),
    Kind("resend-key", r"re_[0-9A-Za-z]{8}_[0-9A-Za-z]{24}\b", needs="d"),
    Kind("sendgrid-key", r"SG\.[0-9A-Za-z_=.-]{66}"),
    Kind("sendinblue-key", r"x(?:key|smtp)sib-[0-9a-f]{64}-[0-9A-Za-z]{16}"),
    Kind("slack-app-token", r"xapp-[0-9]-[0-9A-Za-z]+-[0-9]+-[0-9A-Za-z]{20,}"),
    Kind("slack-bot-token", r"xoxb-[0-9]{8,14}-[0-9A-Za-z-]{14,}"),
    Kind("slack-browser-token", r"xox[cd]-[0-9A-Za-z%+/=-]{40,}"),
    Kind("slack-config-refresh-token", r"xoxe-[0-9]-[0-9A-Za-z]{100,}"),
    Kind("slack-config-token", r"xoxe\.xox[bp]-[0-9]-[0-9A-Za-z]{100,}"),
    Kind("slack-legacy-token", r"xox[os]-[0-9]+-[0-9]+-[0-9]+-[0-9A-Fa-f]{8,}"),
    Kind("slack-user-token", r"xox[pe]-(?:[0-9]{9,14}-){2,3}[0-9A-Za-z-]{20,}"),
    Kind("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[0-9A-Za-z+/]{40,60})"),
    Kind("slack-workspace-token", r"xox[ar]-(?:[0-9]-)?[0-9A-Za-z-]{8,}"),
    Kind("teams-webhook", r"webhook\.office\.com/webhookb2/(?P<secret>[0-9a-z@-]{60,80}/IncomingWebhook/"
         r"[0-9a-z]{32}/[0-9a-z-]{36,})"),
    Kind("telegram-bot-token", r"(?:bot)?[0-9]{8,10}:AA[0-9A-Za-z_-]{33}", gate=r":AA[0-9A-Za-z_-]{33}"),
    Kind("trello-token", r"ATTA[0-9A-Za-z]{72}"),
    Kind("twilio-key", r"SK[0-9a-f]{32}\b"),
    Kind("twitter-bearer-token", r"A{19,}[0-9A-Za-z%]{60,}", needs="d"),
    Kind("zapier-webhook", r"hooks\.zapier\.com/hooks/catch/(?P<secret>[0-9]+/[0-9a-z]{5,})"),
)  # fmt: skip
