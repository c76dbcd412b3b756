"""The words by which programs print a secret: what stores, clouds and forges keep under lock, and whole environments.

shared/word_rows.py says how a row is read. A faint row (`~`) is for `strict` only: what it prints is asked for every
day, and the store itself says who may have it.
"""

from __future__ import annotations

STORES: dict[str, str] = {
    "vault bao openbao": """
        read
        unwrap
        print token
        ~ kv get
        kv get +-field|-format|--field|--format
        token create
        operator init
        operator generate-root
        operator rekey
        operator raft snapshot save
        write %/creds/|/secret-id|/issue/|/export/|/login
    """,
    "bws": """
        secret get
        secret list
        get secret
        list secrets
    """,
    "gopass": "cat; otp; totp; export",
    "kwallet-query": "* +-r|--read-password",
    "dcli": "password; p; note; n; secret; read; inject; backup; otp",
    "pass-cli": "item view; item get; export",
    "keeper": "get; find-password; find-password-by-url; export; download-attachment; clipboard-copy",
    "ksm": "secret get; secret notation; secret totp; profile export",
    "epass enpass-cli": "show; pass; copy; export",
    "envchain": "+--show-value|-v",
    "teller": "env; sh; yaml; json; export; template; show",
    "chamber": "read; export; env; find +-v|--by-value; history",
    "credstash": "get; getall",
    "confidant": "get_service; get_blind_credential",
    "akeyless": """
        get-secret-value
        get-dynamic-secret-value
        get-rotated-secret-value
        get-ssh-certificate
        export-key
        static-creds-auth
        decrypt
    """,
    "conjur": "variable get; variable value; authn authenticate; user rotate_api_key; host rotate_api_key",
    "berglas": "access; read",
    "knox": "get",
    "strongbox": "secret get; secret get-latest; secret-group backup",
    "biscuit": "get; export",
    "ejson": "decrypt",
    "eyaml": "decrypt",
    "keyctl": "print; read; ~ pipe",
    "git-crypt": "export-key",
    "git-secret": "cat; reveal",
    "git": "secret cat; secret reveal; crypt export-key",
    "blackbox_cat": "",
    "blackbox_decrypt_all_files": "",
    "blackbox_decrypt_file": "",
    "transcrypt": "+--display|-d|--show-raw|-s|--export-gpg|-x",
    "dotenvx": "get; decrypt; keypair",
    "dotenv-vault": "decrypt; keys; pull",
    "dotenv": "list; get",
    "phase": "secrets export; secrets get; secrets list +--show; dynamic-secrets lease generate",
    "hcp": "vault-secrets secrets open; vs secrets open; auth print-access-token",
    "vlt": "secrets get; secrets +--plaintext",
    "esc": "open; env open; env get +--show-secrets",
    "keybase": "fs read; pgp export +-s|--secret",
    "ansible-vault": """
        ~ view
        decrypt +--output=-|--output=/dev/stdout
    """,
    "sops": "decrypt !-i|--in-place|--output; +-d|--decrypt !-i|--in-place|--output",
    "age rage": "+-d|--decrypt !-o|--output",
    "kubeseal": "+--recovery-unseal",
    "borg": "key export",
    "step": "ca token; oauth; crypto key format +--pem|--der|--pkcs8",
    "tctl": "auth sign; auth export +--keys; tokens add; users reset",
    "wg": "showconf; show * private-key; show * preshared-keys; show * dump",
    "wg-quick": "strip",
    "chezmoi": "secret; execute-template %bitwarden|onepassword|pass_|vault|keyring|lastpass|secret",
    "gcore": "",
    "rails": "credentials:show; encrypted:show; secrets:show",
    "php": "artisan env:decrypt",
    "wp": "config get %password|_key|salt|secret; config list",
    "drush": "sql:connect; sql-connect",
    "dotnet": "user-secrets list",
    "eas": "env:pull; env:get; env:list %sensitive; secret:list",
    "buildkite-agent": "secret get",
    "jenkins-cli": "get-credentials-as-xml; list-credentials-as-xml",
    "snyk": "config get %api|token",
    "puttygen": "+-O=private|-O=private-openssh|-O=private-sshcom",
    "ykman": "oath accounts code; oath code",
}
"""Programs whose purpose is to keep secrets."""

CLOUDS: dict[str, str] = {
    "aws aws2": """
        secretsmanager get-secret-value
        secretsmanager batch-get-secret-value
        ssm get-parameter +--with-decryption
        ssm get-parameters +--with-decryption
        ssm get-parameters-by-path +--with-decryption
        ssm get-parameter-history +--with-decryption
        sts get-session-token
        sts get-federation-token
        sts assume-role
        sts assume-role-with-saml
        sts assume-role-with-web-identity
        sso get-role-credentials
        sso-oidc create-token
        configure export-credentials
        ~ ecr get-login-password
        ~ ecr get-authorization-token
        ecr-public get-login-password
        codeartifact get-authorization-token
        rds generate-db-auth-token
        ~ eks get-token
        redshift get-cluster-credentials
        redshift get-cluster-credentials-with-iam
        redshift-serverless get-credentials
        cognito-identity get-credentials-for-identity
        kms decrypt
        kms generate-data-key
        kms generate-data-key-pair
        ec2 get-password-data +--priv-launch-key
        ec2 create-key-pair
        lightsail download-default-key-pair
        lightsail create-key-pair
        lightsail get-relational-database-master-user-password
        apigateway get-api-keys +--include-values
        apigateway get-api-key +--include-value
        iam create-service-specific-credential
        iam reset-service-specific-credential
        connect get-federation-token
    """,
    "gcloud": """
        auth print-access-token
        auth print-identity-token
        auth print-refresh-token
        auth application-default print-access-token
        secrets versions access
        config config-helper
        kms decrypt
        kms asymmetric-decrypt
        sql generate-login-token
        redis instances get-auth-string
        redis instances describe +--include-auth-string
        compute reset-windows-password
        services api-keys get-key-string
        alpha services api-keys get-key-string
        beta services api-keys get-key-string
        beta secrets versions access
        alpha secrets versions access
        container clusters describe +--show-secrets
        auth export-credentials
    """,
    "az": """
        account get-access-token
        keyvault secret show
        keyvault secret download
        keyvault secret backup
        keyvault key download %pem
        storage account keys list
        ~ storage account show-connection-string
        ~ storage account generate-sas
        ~ storage container generate-sas
        ~ storage blob generate-sas
        ~ acr credential show
        acr login +--expose-token|-t
        ~ cosmosdb keys list
        ~ cosmosdb list-keys
        cosmosdb list-connection-strings
        ~ redis list-keys
        servicebus namespace authorization-rule keys list
        servicebus queue authorization-rule keys list
        eventhubs namespace authorization-rule keys list
        eventhubs eventhub authorization-rule keys list
        iot hub connection-string show
        cognitiveservices account keys list
        search admin-key show
        maps account keys list
        signalr key list
        ~ functionapp keys list
        ~ functionapp function keys list
        ~ webapp deployment list-publishing-credentials
        ~ webapp deployment list-publishing-profiles
        ~ functionapp deployment list-publishing-profiles
        ~ webapp config connection-string list
        ~ webapp config appsettings list
        aks get-credentials +--file=-|-f=-
        ad app credential reset
        batch account keys list
        apim subscription keys list
        staticwebapp secrets list
    """,
    "azd": "env get-values; env get-value; auth token",
    "doctl": """
        databases connection
        databases user get
        databases user list
        databases get %--format
        registry docker-config
        registry kubernetes-manifest
        kubernetes cluster kubeconfig show
        k8s cluster kubeconfig show
        auth token
    """,
    "hcloud": "config get token; context config",
    "linode-cli": """
        lke kubeconfig-view
        databases mysql-creds-view
        databases postgres-creds-view
        profile token-create
    """,
    "scw": """
        secret version access
        secret version access-by-path
        k8s kubeconfig get
        config get secret-key
        config get secret_key
        config dump
        iam api-key create
    """,
    "oci": "secrets secret-bundle get; secrets secret-bundle get-secret-bundle-by-name; iam auth-token create; "
    "iam customer-secret-key create; kms crypto decrypt",
    "ibmcloud": "iam oauth-tokens; iam api-key-create; secrets-manager secret; resource service-key; ks cluster config",
    "aliyun": "kms getsecretvalue; kms decrypt; configure get; sts assumerole",
    "tccli": "ssm getsecretvalue; sts getfederationtoken; sts assumerole; configure get",
    "yc": "lockbox payload get; iam create-token; iam access-key create; iam key create; config get token",
    "openstack": "token issue; secret get +--payload|-p|-d|--decrypt; credential show; ec2 credentials list; "
    "ec2 credentials show; keypair create",
    "cf": "oauth-token; env; e; service-key; credhub get",
    "eb": "printenv",
    "heroku": """
        auth:token
        config .
        config:get
        authorizations:create
        authorizations:info
        authorizations:rotate
        pg:credentials:url
        pg:credentials
        redis:credentials
        kafka:credentials
    """,
    "fly flyctl": """
        auth token
        tokens create
        wireguard create
        wireguard token create
        config env
        postgres users list
    """,
    "vercel now": "env pull; tokens add",
    "netlify ntl": "env:get; ~ env:list; env:list +--plain|--json",
    "railway": "variables . !--set|--set-from-stdin; variable list; variables list",
    "supabase": "projects api-keys; ~ status +-o|--output; vault read",
    "firebase": "login:ci; functions:config:get; functions:secrets:access; auth:export; ext:configure",
    "wrangler": "auth token; hyperdrive get",
    "cloudflared": "tunnel token; access token",
    "stripe": "config +--list; listen +--print-secret",
    "databricks": "secrets get-secret; auth token; tokens create",
    "turso": "db tokens create; auth token; auth api-tokens mint; group tokens create",
    "neon neonctl": "connection-string; cs; roles get; roles reset-password",
    "pscale": "password create; service-token create",
    "convex": "env get; env list",
    "auth0": "apps show +--reveal-secrets|-r; test token; apps create +--reveal-secrets|-r",
    "confluent": "api-key create; api-key store",
    "snow": "connection generate-jwt; auth oidc read-token",
    "clever": "env .; env import-vars",
    "scalingo gigalixir": "env .; config .",
    "dokku": "config .; config:show; config:export; config:get",
    "convox": "env .; env get; resources url",
    "serverless sls": "param get; param list",
    "pulumi": """
        config +--show-secrets
        stack output +--show-secrets
        stack export +--show-secrets
        env open
        env get +--show-secrets
        ~ config get
        config get %password|secret|token|apikey|api_key|credential
    """,
    "terraform tofu opentofu tf terragrunt": "state pull; ~ output; output +-raw|--raw|-json|--json "
    "%password|secret|token|private_key|credential|access_key; ~ show +-json|--json",
    "cdktf": "output +--include-sensitive-outputs",
    "aws-vault": "export; exec +--json|-j; login +--stdout|-s",
    "saml2aws": "script; console +--link",
    "aws-okta": "env; cred-process; login +--stdout",
    "aws-sso": "eval; process",
    "aws-sso-util": "credential-process; console get-config-token",
    "granted": "credential-process; sso-tokens",
    "awsume": "+-s|--show-commands",
    "okta-aws-cli": "",
    "rclone": "reveal",
    "mc mcli": "alias list; alias ls; config host ls; config host list; alias export",
    "s3cmd": "+--dump-config",
}
"""Clouds and platforms: tokens, passwords and the settings of applications, which hold them."""

FORGES: dict[str, str] = {
    "gh": "config get %oauth_token|token; auth git-credential get",
    "glab": "config get %token; auth status +-t|--show-token; auth credential-helper get; auth token",
    "npm pnpm": "token create; config get %_auth|token|_password",
    "yarn": "config get %npmauthtoken|npmauthident|_auth|token",
    "jf jfrog": "access-token-create; atc; config export; c export",
    "docker podman nerdctl": """
        inspect %.config.env|.config}|configenv
        container inspect %.config.env|.config}|configenv
        context export
        swarm join-token
        swarm unlock-key
        secret inspect +--showsecret
    """,
    "git-credential-manager git-credential-osxkeychain git-credential-store git-credential-cache": "get",
    "kubectl oc kubecolor k": """
        create token
        view-secret
        get %/secrets +--raw
        get secret +--template
        get secrets +--template
        whoami +-t|--show-token
        sa get-token
        serviceaccounts get-token
        registry login +--to=-
        get-token
        oidc-login get-token
    """,
    "helm": "secrets decrypt; secrets view; secrets dec",
    "argocd": "admin initial-password; account generate-token; admin cluster kubeconfig",
    "kubeadm": "token create; token list; token generate; certs certificate-key; kubeconfig user",
    "kops": "get secrets %plaintext; get assets %secret; export kubeconfig +--admin",
    "kubectl-view_secret kubectl-view-secret": "",
    "etcdctl": "get %/secrets; get / +--prefix; get +--from-key",
    "nomad": "var get; acl token self; acl token create; acl bootstrap; acl token info",
    "consul": "acl token read; acl token create; acl bootstrap; connect ca get-config",
    "boundary": "authenticate +-keyring-type=none|--keyring-type=none; config get-token",
    "knife": "vault show; data bag show %--secret",
    "rabbitmqctl": "export_definitions",
    "redis-cli valkey-cli": "config get requirepass; config get masterauth; acl list; acl getuser",
    "headscale": "preauthkeys create; apikeys create; preauthkeys list",
    "syncthing": "cli config gui apikey get",
    "gitea forgejo": "admin user generate-access-token; actions generate-runner-token; generate secret",
    "getent": "shadow; gshadow",
    "samba-tool": "user getpassword; domain exportkeytab",
    "pdbedit": "+-w|--smbpasswd-style",
    "klist": "+-K",
    "ktutil": "dump",
    "netsh": "wlan show profile %key=clear; wlan show profiles %key=clear; wlan export profile %key=clear",
    "vaultcmd": "%/listcreds",
    "dpapi mimikatz lazagne laZagne pypykatz secretsdump.py impacket-secretsdump mimipenguin": "",
}
"""Forges, clusters and servers: their tokens, and the files of accounts."""

ENVIRONMENTS: dict[str, str] = {
    "systemctl": "show-environment; show %environment",
    "launchctl": "export",
    "tmux": "show-environment; showenv",
    "npm pnpm yarn": "run env !--if-present",
    "cmake": "environment +-E",
    "pm2": "env; prettylist; jlist",
    "direnv": "export; dump; show_dump",
    "docker podman": "compose config +--environment",
    "docker-compose": "config +--environment",
}
"""Programs that print the variables of everything that runs."""
