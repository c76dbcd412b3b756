"""The command lines of clouds, clusters and services, as data: what their destruction hits and which words mean it.

Adding a tool is a name in a row. A row says which kind of effect a removal has; `also` are words that destroy in these
tools only; `never` are removals that cost nothing there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.values import EffectKind

DESTROY = words(
    """
    bulkdelete deactivate decommission del delete deleteall deletefile delsnapshot deprovision deregister
    destroy drop dropall empty erase evict expunge flush flushall nuke obliterate prune purge rb remove reset
    revoke rm rmdir rmi rmr rollback teardown terminate trash truncate undeploy uninstall unpublish unregister
    unsubscribe wipe zap
    """
)
"""Verbs by which a tool of this table takes something away."""

CLEAREST = words(
    """
    delete deleteall destroy drop erase nuke purge terminate wipe
    """
)
"""Verbs that mean destruction even when nothing is known of the tool."""

HARMLESS = words(
    """
    about add analyze annotate apply approve ask assign attach bench boot bootstrap browse cat check compare
    configure connect copy count cp create curl current debug describe dev diff doctor download du edit enable
    eval evaluate exec exists explain fetch find fmt format generate get grep head help info init insert inspect
    lint list load locate login logout ls lsd lsjson lsl new open ping preview print promote publish
    pull push put read reconcile refresh register render restart resume scale see select send serve set setup
    show ssh start stop submit subscribe suspend switch sync tail top unlock up update upgrade upload use
    validate verify view wait watch whoami write
    """
)
"""Verbs after which the rest of the line is operands, so that a thing named `delete` is only a name."""

THINGS = words(
    """
    auth backup build clone completion console deploy env export health import install invoke issue label link
    log logs migrate mount plan port-forward proxy query release report request run scan search server shell sign
    snapshot stat stats status sub tag template test trace tree version
    """
)
"""Harmless verbs that are also things: `velero backup delete` removes one, `velero backup create` makes one."""

LOCAL = words(
    """
    alias aliases autocomplete cache caches completion completions component components extension extensions
    plugin plugins telemetry
    """
)
"""What a tool keeps on this machine and fetches again."""

DRY = words(
    """
    --check --dry-run --dry_run --dryrun --explain --help --help-all --no-op --noop --simulate --version
    --what-if --whatif -h -help -version
    """
)
"""Options under which a tool only talks."""


class Cli(Struct, frozen=True):
    """What is known of one tool."""

    kind: EffectKind
    what: str
    also: frozenset[str]
    never: frozenset[str]


def _row(kind: EffectKind, what: str, names: str, also: str = "", never: str = "") -> Iterator[tuple[str, Cli]]:
    cli = Cli(kind, what, words(also), words(never))
    return ((name, cli) for name in names.split())


_ROWS = (
    _row(
        "infra.destroy",
        "cloud resources",
        """
        aliyun brightbox cinder civo copilot doctl eb ecs-cli exo glance hcloud ibmcloud ionosctl koyeb
        linode-cli metal neutron nova oci openstack ovhai scw swift tccli triton upctl vultr vultr-cli yc
        """,
        also="deallocate disable disable-protection password-reset poweroff power-off rebuild release",
    ),
    _row(
        "infra.destroy",
        "a deployed application",
        """
        amplify arc azd caprover cf chalice clever deployctl dokku fly flyctl gigalixir heroku kf modal netlify
        northflank now ntl platform porter pscale qovery railway render sam scalingo serverless shuttle sls sst
        surge symfony up vercel zappa zeabur
        """,
        also="clear detach disable down failover killall leave release restore suspend transfer unset",
        never="rollback",
    ),
    _row(
        "infra.destroy",
        "a deployed service or its data",
        """
        akamai bunny cfcli cloudflared fastly flarectl wrangler
        """,
        also="activate cleanup",
    ),
    _row(
        "infra.destroy",
        "a cluster or what runs in it",
        """
        argo argocd cilium clusterctl crictl ctr devspace eksctl flux garden helmfile istioctl k0s k0sctl k3d kapp kind
        kops kpt kubeadm telepresence
        kumactl linkerd meshctl microk8s minikube ocm okteto rancher rke rke2 rosa skaffold talosctl tanzu tkn
        vcluster velero virtctl werf
        """,
        also="rmp stopp",
    ),
    _row(
        "infra.destroy",
        "a service, its data or its secrets",
        """
        boundary consul etcdctl nomad waypoint zkCli.sh
        """,
        also="compact compaction disable drain force-leave gc import leave remove-peer restore revert seal",
    ),
    _row(
        "infra.destroy",
        "a virtual machine",
        """
        colima docker-machine esxcli govc incus limactl lxc machinectl multipass onevm orb pct prlctl pvesh pveum qm
        tart utmctl vagrant VBoxManage vboxmanage vim-cmd virsh vmctl vmrun xe
        """,
        also="kill poweroff undefine unregistervm",
        never="rollback",
    ),
    _row(
        "infra.destroy",
        "managed machines",
        """
        chef-server-ctl cobbler hammer juju knife maas salt-key
        """,
        also="destroy-controller destroy-model kill-controller",
    ),
    _row(
        "infra.destroy",
        "builds, jobs or their secrets",
        """
        appveyor bk buildkite-agent circleci codefresh concourse drone gitlab gitlab-ctl gitlab-rake
        gitlab-runner glab jenkins-cli jenkins-jobs semaphore tea teamcity travis woodpecker-cli
        """,
        also="archive clear-queue disable-job restore unset",
    ),
    _row(
        "infra.destroy",
        "flags that steer running software",
        """
        configcat flagsmith flipt growthbook ldcli optimizely split statsig unleash
        """,
        also="archive kill",
    ),
    _row(
        "infra.destroy",
        "monitoring",
        """
        amtool checkly cortextool datadog datadog-ci dog grafana-cli grafanactl influx logcli lokitool mimirtool
        newrelic opsgenie pagerduty pd promtool sentry-cli splunk zabbix_cli
        """,
        also="clean",
    ),
    _row(
        "infra.destroy",
        "routes and policies of a gateway",
        """
        apigeecli deck kong krakend tyk
        """,
        also="sync",
    ),
    _row(
        "infra.destroy",
        "payment data",
        """
        braintree chargebee paddle paypal recurly square stripe
        """,
        also="archive cancel roll void",
    ),
    _row(
        "infra.destroy",
        "numbers, messages or addresses",
        """
        mailgun messagebird nexmo plivo postmark sendgrid twilio vonage
        """,
        also="cancel close release suspend",
    ),
    _row(
        "infra.destroy",
        "accounts and access",
        """
        auth0 authentik clerk dsidm fga gam hydra ipa kcadm kcadm.sh keto kratos m365 mgc okta ory samba-tool
        workos zitadel
        """,
        also="disable suspend",
    ),
    _row(
        "infra.destroy",
        "secrets",
        """
        akeyless berglas bw chamber conjur credstash doppler gopass infisical lpass op pass
        """,
        also="disable",
    ),
    _row(
        "infra.destroy",
        "secrets or the way to them",
        """
        bao vault
        """,
        also="disable seal step-down",
    ),
    _row(
        "infra.destroy",
        "keys and certificates",
        """
        acme.sh certbot lego solo2 step ykman
        """,
    ),
    _row(
        "infra.destroy",
        "network configuration",
        """
        dnscontrol headscale netbird nmcli octodns-sync ovn-nbctl ovs-vsctl pdnsutil tailscale zerotier-cli
        """,
        also="del-br del-port delete-rrset delete-zone logout",
        never="down evict flush reset",
    ),
    _row(
        "data.destroy",
        "messages or topics",
        """
        activemq artemis confluent emqx_ctl kaf kcctl mosquitto_ctrl nats pulsar-admin pulsarctl rabbitmq-queues
        rabbitmqadmin rabbitmqctl rpk tctl temporal zbctl
        """,
        also="clear clear-backlog force_reset forget_cluster_node",
    ),
    _row(
        "data.destroy",
        "backups",
        """
        autorestic barman borg borgmatic bup duplicacy duplicity kopia pgbackrest proxmox-backup-client
        rdiff-backup restic rustic snapper tarsnap timeshift wal-e wal-g
        """,
        also="break-lock compact expire forget recreate --repair rewrite stanza-delete",
        never="rollback",
    ),
    _row(
        "data.destroy",
        "stored files",
        """
        azcopy b2 coscmd gdrive ipfs lakectl mc mcli obsutil ossutil ossutil64 rucio s3cmd s4cmd s5cmd storj
        uplink
        """,
        also="cleanup clear expire undo unset",
    ),
    _row(
        "data.destroy",
        "stored files",
        """
        rclone
        """,
        also="bisync cleanup move moveto rmdirs sync",
    ),
    _row("data.destroy", "stored data", "dvc", also="gc", never="remove"),
    _row(
        "data.destroy",
        "a search index",
        """
        algolia ecctl elastic meilisearch opensearch-cli pinecone qdrant solr typesense vespa weaviate
        """,
        also="clear",
    ),
    _row(
        "data.destroy",
        "a database",
        """
        arangosh astra atlas avn cockroach convex couchbase-cli cypher-shell dgraph dolt edgedb fauna firebase
        gel hasura mongocli neo4j-admin neon neonctl nodetool patronictl repmgr supabase surreal tarantoolctl
        tiup turso xata yugabyted
        """,
        also="assassinate bucket-flush clean clearsnapshot disable down removenode restore unset",
    ),
    _row(
        "data.destroy",
        "a data set or a pipeline",
        """
        abctl airbyte airflow clearml dagster databricks dbfs feast hadoop hdfs hf huggingface-cli kaggle ksql
        mlflow nessie prefect ray snow snowsql superset wandb zenml
        """,
        also="-rm -rmr clear",
    ),
)

CLIS: dict[str, Cli] = {name: cli for row in _ROWS for name, cli in row}
