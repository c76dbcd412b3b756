"""The verbs and objects of tool names, as data."""

from __future__ import annotations

from interpose.core.tool_words import word_set

READS = word_set(
    """
    get list search read find fetch describe show view count lookup query inspect explain preview check validate
    verify is has can exists status stat info browse retrieve analyze analyse summarize summarise compare diff
    watch tail log ls cat head navigate snapshot screenshot select suggest estimate calculate compute convert
    render wait ping draft help plan think ask poll monitor scan open peek track whoami about review lint format
    parse simulate explore locate resolve download export test debug profile trace measure audit detect
    recommend rank classify translate extract dry
    """
)
"""Verbs that look, think or ask. The first verb of a name says what the tool does: `get_delete_policy` reads."""

DESTROYS = word_set(
    """
    delete del remove rm drop destroy purge erase wipe truncate flush flushall flushdb terminate uninstall
    deprovision decommission teardown nuke expunge prune unpublish rmtree rmdir unlink trash shred zap
    obliterate undeploy deregister unregister rmi deleteall dropall
    """
)
EMPTIES = word_set("clear reset empty rollback restore revert overwrite discard format factory")
"""Verbs that destroy only where their object is large."""
LARGE = word_set(
    """
    deployment deployments release trash migrate migration migrations database databases db table tables
    collection collections index indexes indices bucket buckets queue queues topic topics data all everything
    repository repo volume volumes cluster project account device disk calendar inbox mailbox store keyspace
    schema stream dataset backup snapshot instance environment password hard workspace history deploy prod
    production prisma
    """
)
SMALL = word_set(
    """
    reaction reactions todo todos task tasks breakpoint breakpoints tab tabs memory memories entity entities
    observation observations relation relations bookmark bookmarks filter filters cache caches draft drafts
    selection highlight highlights marker markers layer layers shape shapes overlay listener listeners session
    tmp temp temporary watch watcher timer alarm pin favorite favourite element elements background duplicates
    whitespace cell cells annotation annotations thought thoughts step steps goal goals plan plans reminder
    reminders fill stroke effect effects style styles whiteboard canvas console mock mocks stub stubs
    """
)
"""What an agent makes and takes away all day, or a person brings back with one key."""
SMALL_SERVERS = word_set(
    """
    memory todo todos taskmaster sequential thinking planner scratchpad excalidraw figma blender
    """
)
DATA = word_set(
    """
    database databases db table tables collection collections row rows record records document documents message
    messages email emails mail mails backup backups index bucket buckets object objects key keys topic queue
    file files page pages event events calendar contact contacts data dataset history trash many all
    """
)

STOPS = word_set(
    """
    stop shutdown halt suspend disable deactivate ban drain evict cordon kill poweroff pause detach mute silence
    archive dismiss
    """
)
STOPPED = word_set(
    """
    instance instances server servers service services vm vms cluster clusters deployment deployments pod pods
    machine machines node nodes database databases db droplet droplets app application function environment user
    users account accounts alert alerts alarm alarms mfa protection policy rule rules monitor monitors backup
    backups logging logs firewall waf security key keys webhook domain dns access token tokens credential
    credentials certificate repository repo project projects channel channels conversation conversations
    contacts volume volumes disk disks monitoring 2fa
    """
)
POWER = word_set("shutdown reboot poweroff halt")
CANCELS = word_set("cancel")
CANCELLED = word_set(
    """
    subscription subscriptions order orders payment reservation booking invoice meeting event appointment
    deployment plan
    """
)

SENDS = word_set("send tweet retweet broadcast announce reply forward dm sms fax")
SPEAKS = word_set("email mail post notify message comment")
"""Words that are a verb only where nothing reads: `email_search` reads, `email_customer` sends."""
NO_MESSAGE = word_set(
    """
    key keys input inputs command commands request requests prompt signal control ctrl stdin terminal agent
    agents subagent query code keystrokes keystroke notification feedback shell event telemetry metric metrics
    log logs click tap gesture
    """
)
FORGE_TALK = word_set("review reviews comment comments thread discussion issue pull pr mr")
"""Where developers talk about code. In a chat a thread is read by other people."""
CHATS = word_set(
    """
    slack discord teams telegram whatsapp mattermost signal gmail outlook reddit twitter linkedin zulip
    """
)
TO_THE_USER = word_set("user human operator owner me self")
CALLS = word_set("call dial phone")
CALLED = word_set("phone call number customer contact")

PAYS = word_set("pay payout withdraw refund purchase buy sell donate transfer remit invest book topup liquidate")
ORDERS: dict[str, frozenset[str]] = {
    "redeem": word_set("points voucher coupon reward rewards giftcard"),
    "subscribe": word_set("plan"),
    "order": word_set("food pizza meal groceries ride taxi product item"),
    "reserve": word_set("room seat seats flight hotel car ticket tickets restaurant"),
}
"""Verbs that order something for somebody, with what they order."""
MOVES_MONEY = word_set("wire swap charge stake spend debit tip lend borrow bridge trade bet")
"""Verbs that pay only where their object is money."""
MONEY = word_set(
    "card customer funds money coins coin wallet balance token tokens usd eth btc usdc shares stock stocks"
)
PAID = word_set(
    """
    payment payments payout payouts charge charges refund refunds transfer transfers order orders transaction
    transactions trade trades subscription withdrawal withdrawals checkout funds money crypto bitcoin eth usdc
    swap bet bets wager
    """
)
NO_MONEY = word_set(
    """
    file files data sort column display state style request document format note notebook address branch commit
    ref git agent human
    """
)

GRANTS = word_set("grant revoke invite share impersonate assume unshare unlock disarm authorize expose")
GIVEN = word_set(
    """
    collaborator collaborators member members permission permissions acl role roles policy policies access grant
    invite invitation invitations sharing visibility public ownership owner admin administrator sudoer mfa 2fa
    protection protections ruleset rulesets webhook webhooks tunnel tunnels ingress firewall iam
    """
)
KEYS = word_set("key keys token tokens credential credentials password secret")
KEY_KINDS = word_set("access api ssh deploy auth service user account login root admin iam signing personal")

PUBLISHES = word_set("publish deploy promote rollout merge redeploy release sync apply provision ship yank deprecate")
ALWAYS_OUT = word_set("publish deploy promote rollout merge redeploy")
"""Of these the other words don't matter. The rest needs one of `RELEASED`."""
RELEASED = word_set(
    """
    release releases deployment deployments production prod infrastructure terraform stack campaign gist
    manifest app application package version website site listing ad ads
    """
)
CREATED_OUT = word_set("release deployment gist campaign tweet post listing ad fork")
"""What is out as soon as it is made."""
LOCAL_MERGES = word_set(
    """
    cells cell dataframes dataframe pdf pdfs csv columns rows images image layers objects dict json
    """
)

MAKES = word_set(
    """
    create add update set make change edit place submit put attach assign enable modify upsert insert new
    generate issue rotate sign execute confirm capture approve register write start initiate schedule
    """
)
APPROVES = word_set("approve confirm capture execute sign submit finalize land")
VOTES = word_set("event vote decision verdict")
APPROVED = word_set(
    """
    pull pr merge deployment payment transaction request access invoice expense change trade order transfer contract
    agreement terms
    """
)

TELLS = word_set(
    """
    get read reveal show fetch export dump view retrieve decrypt copy access print lookup load resolve download
    """
)
SECRETS = word_set(
    """
    mnemonic phrase secret secrets password passwords credential credentials keychain passphrase privatekey
    apikey apikeys totp otp cookies kubeconfig
    """
)
SECRET_ADJECTIVES = word_set(
    """
    access auth api refresh bearer session oauth secret private signing identity service master ssh
    """
)
SECRET_NOUNS = word_set("key keys token tokens")
ABOUT_SECRETS = word_set(
    """
    list count scan detect check names metadata rotation policy exists usage info status describe search
    validate hash strength requirements expiry generate design example sample schema template
    limits limit price balance version versions
    history
    """
)
SAFES = word_set(
    """
    vault 1password onepassword bitwarden lastpass keychain keyring secretsmanager keeper dashlane infisical
    doppler akeyless passbolt keepass keepassxc nordpass secrets pass secretmanager keyvault
    """
)
NO_SAFES = word_set("obsidian note notes markdown")
ENVIRONMENT = word_set("env envs environ envvars dotenv printenv")

STARTS = word_set("run trigger dispatch execute start rerun invoke")
STARTED = word_set("workflow workflows pipeline pipelines dag runbook playbook lambda")
OPENS_UP = word_set("update set change put edit modify share make patch")
PUBLIC_KEYS = word_set("visibility acl access public permission audience sharing privacy")
PUBLIC = word_set("public publicread publicreadwrite anyone everyone allusers world true")
OWN_PROCESSES = word_set("process processes session shell terminal commander command")
"""What an agent started itself."""
OPENED = word_set("firewall port ports ingress tunnel gate door garage")
FORCES = word_set("force forced forcepush forceupdate")
PUSHES = word_set("push ref refs branch branches")
REMOTE_FILES = word_set(
    """
    github gitlab bitbucket gitea gdrive drive dropbox onedrive sharepoint s3 box gcs huggingface
    """
)
"""Servers whose files lie elsewhere: what is deleted there is no file of the project."""
IDENTITIES = word_set("iam okta auth0 ldap identity keycloak entra cognito clerk")
TOLD = word_set(
    """
    status info history list search validator stats details metadata count analysis summary log logs draft
    drafts preview
    """
)
"""Last words of names that tell something: `deploy_status`, `email_search`."""
DEVELOPED = word_set("server servers app application")
"""What a developer starts and stops all day."""
ALSO_ENDS: dict[str, frozenset[str]] = {
    "close": word_set("account accounts position positions"),
    "leave": word_set("organization organisation org team workspace guild"),
    "lock": word_set("user users account accounts"),
    "kick": word_set("member members user users participant"),
    "void": word_set("invoice payment order"),
    "reverse": word_set("charge payment transaction transfer"),
    "downgrade": word_set("plan subscription account"),
    "rebuild": word_set("server servers instance vm droplet machine host"),
    "reimage": word_set("server servers instance vm droplet machine host"),
    "failover": word_set("database db cluster region service"),
    "switch": word_set("traffic"),
    "shift": word_set("traffic"),
    "rename": word_set("repository repo organization organisation table database bucket collection"),
}
"""Verbs that are harmless for most objects, and end something for these."""
ENVIRONMENT_KEYS = word_set("env environment stage tier deployenv")
SETTINGS = word_set("flag flags config configuration variable variables")
PERSONS = word_set("user users member members account accounts collaborator person people team")
PRODUCTION = word_set("prod production live prd")
QUERIED = word_set(
    """
    query queries search report reports test tests check checks eval evaluation analysis trace lighthouse audit
    dashboard context filter benchmark profile status log logs monitor scan snapshot
    """
)
WORKS_ON = word_set(
    """
    run apply execute migrate restart scale ship push seed reset clear stop invoke patch toggle switch shift import
    """
)
"""Verbs that are daily work, and a question where they work on production."""
COUNTS = word_set("replicas desiredcount desiredcapacity instances size count")
RECIPIENTS = word_set("to recipient recipients cc bcc")
ROLES = word_set("role roles permission permissions accesslevel")
HIGH_ROLES = word_set("admin administrator owner root superuser superadmin maintainer")
EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})
CRON = word_set("cron crontab cronjob")
DECRYPTS = word_set("decrypt decryption reveal unmask plaintext showsecrets includesecrets")
