"""The command lines of clouds, clusters and services, as data: what their destruction hits and which words mean it.

Adding a tool is a name in a row. A row says which kind of effect a removal has; `also` are words that destroy in these
tools only; `never` are removals that cost nothing there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from interpose.types import EffectKind

DESTROY: frozenset[str] = frozenset(
    "bulkdelete deactivate decommission del delete deleteall deletefile delsnapshot deprovision deregister destroy drop"
    " dropall empty erase evict expunge flush flushall force_reset killall nuke obliterate offboard prune purge rb remove"
    " reset revoke rm rmdir rmi rmr rollback teardown terminate trash truncate undeploy uninstall unpublish unregister"
    " unsubscribe wipe zap".split()
)
"""Verbs by which a tool of this table takes something away."""

CLEAREST: frozenset[str] = frozenset("delete deleteall destroy drop erase nuke purge terminate wipe".split())
"""Verbs that mean destruction even when nothing is known of the tool."""

HARMLESS: frozenset[str] = frozenset(
    "about add analyze annotate apply approve ask assign attach auth backup bench boot bootstrap browse build cat check"
    " clone compare completion configure connect console copy count cp create curl current debug deploy describe dev diff"
    " doctor download du edit enable env eval evaluate exec exists explain export fetch find fmt format generate get grep"
    " head health help import info init insert inspect install invoke issue label link lint list load locate log login"
    " logout logs ls lsd lsjson lsl migrate mount new open ping plan port-forward preview print promote proxy publish pull"
    " push put query read reconcile refresh register render report request restart resume run scale scan search see select"
    " send serve server set setup shell show sign snapshot ssh start stat stats status stop sub submit subscribe suspend"
    " switch sync tag tail template test top trace tree unlock up update upgrade upload use validate verify version view"
    " wait watch whoami write".split()
)
"""Verbs after which the rest of the line is operands, so that a thing named `delete` is only a name."""

LOCAL: frozenset[str] = frozenset(
    "alias aliases autocomplete cache caches completion completions component components extension extensions plugin"
    " plugins telemetry".split()
)
"""What a tool keeps on this machine and fetches again."""

DRY: frozenset[str] = frozenset(
    "--check --diff --dry-run --dryrun --dry_run --explain --help --help-all --no-op --noop --simulate --version"
    " --what-if --whatif -h -help -version".split()
)
"""Options under which a tool only talks."""


class Cli(Struct, frozen=True):
    """What is known of one tool."""

    kind: EffectKind = "infra.destroy"
    what: str = "resources that others use"
    also: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


def _row(kind: EffectKind, what: str, names: str, also: str = "", never: str = "") -> Iterator[tuple[str, Cli]]:
    cli = Cli(kind, what, frozenset(also.split()), frozenset(never.split()))
    return ((name, cli) for name in names.split())


CLIS: dict[str, Cli] = {
    name: cli
    for row in (
        _row("infra.destroy", "cloud resources", "aliyun civo doctl exo hcloud ibmcloud linode-cli oci openstack ovhai scw tccli"
             " upctl vultr vultr-cli yc koyeb nova cinder neutron glance swift magalu metal equinix packet brightbox triton"
             " eb copilot ecs-cli awslocal gridscale ionosctl katapult"),
        _row("infra.destroy", "a deployed application", "heroku fly flyctl vercel now netlify ntl render railway dokku cf kf"
             " gigalixir surge amplify sst serverless sls sam architect arc zappa chalice up pscale porter platform symfony"
             " deployctl shuttle caprover clever scalingo zeabur northflank qovery coolify begin modal beam", "down unset",
             "rollback"),
        _row("infra.destroy", "a deployed worker or its data", "wrangler fastly cloudflared akamai cfcli flarectl bunny",
             "activate cleanup"),
        _row("infra.destroy", "a cluster or what runs in it", "argo argocd cilium eksctl flux istioctl k0s k0sctl k3d k3sup"
             " kind kops kubeadm kubespray kuma kumactl linkerd meshctl minikube okteto rancher rke rke2 rosa skaffold"
             " talosctl tkn vcluster velero virtctl werf kubectl-argo-rollouts clusterctl tanzu pks ocm aro-cli microk8s"
             " kubefirst devspace garden tilt"),
        _row("infra.destroy", "a service, its data or its secrets", "boundary consul nomad waypoint etcdctl zkcli zkCli.sh",
             "deleteall rmr seal disable force-leave"),
        _row("infra.destroy", "a virtual machine", "incus lxc multipass prlctl qm pct pvesh pveum virsh vboxmanage VBoxManage"
             " vagrant limactl colima orb tart utmctl govc xe esxcli vim-cmd vmrun ganeti onevm pvecm ha-manager"
             " podman-machine docker-machine vmctl cloud-hypervisor firecracker-ctl",
             "unregistervm undefine vol-delete force-stop device_delete", "rollback"),
        _row("infra.destroy", "managed machines", "knife salt-key chef-server-ctl juju landscape-api maas foreman hammer razor"
             " spacewalk-remove-channel cobbler", "destroy-model destroy-controller kill-controller"),
        _row("infra.destroy", "builds, jobs or their secrets", "circleci gitlab-runner jenkins-cli jenkins-jobs travis"
             " buildkite-agent bk drone tea glab gitlab concourse codefresh semaphore appveyor act_runner woodpecker-cli"
             " teamcity azuredevops spin hal gitlab-rake gitlab-ctl", "archive clear-queue disable-job quiet-down restore"
             " wipeout-workspace offline-node unset"),
        _row("infra.destroy", "flags that steer running software", "ldcli flipt unleash growthbook flagsmith optimizely"
             " statsig configcat", "archive kill"),
        _row("infra.destroy", "monitoring", "datadog datadog-ci dog newrelic pd pagerduty opsgenie sentry-cli splunk grafana-cli"
             " grafanactl gcx promtool amtool logcli mimirtool cortextool lokitool influx telegraf zabbix_cli honeycomb"
             " victorops statuspage checkly instatus", "clean silence-expire"),
        _row("infra.destroy", "routes and policies of a gateway", "apigeecli kong deck tyk apisix krakend traefikee", "sync"),
        _row("infra.destroy", "payment data", "stripe square braintree paypal recurly chargebee paddle", "cancel roll archive"),
        _row("infra.destroy", "accounts and access", "auth0 okta okta-aws-cli gam ory kratos hydra keto kcadm.sh kcadm kcreg.sh"
             " fga zitadel workos clerk m365 mgc sailpoint ipa samba-tool dsidm lldap-cli authentik casdoor", "suspend disable"
             " force-logout"),
        _row("infra.destroy", "secrets", "bw op lpass pass gopass doppler infisical chamber akeyless conjur berglas"
             " keybase-secrets envkey-source secretctl credstash dashlane", "disable"),
        _row("infra.destroy", "secrets or the way to them", "vault bao openbao",
             "disable seal step-down destroy revoke-self cancel"),
        _row("infra.destroy", "published records or keys", "ykman solo2 tpm2_clear step step-ca cfssl certbot acme.sh lego",
             "", "trash"),
        _row("infra.destroy", "network configuration", "nmcli ovs-vsctl ovn-nbctl zerotier-cli tailscale headscale netmaker"
             " netbird nebula wg-access dnsctl flarectl octodns-sync dnscontrol pdnsutil rndc", "del-br del-port lb-del ls-del"
             " delete-zone delete-rrset logout", "flush evict reset down"),
        _row("data.destroy", "messages or topics", "rpk nats rabbitmqctl rabbitmqadmin rabbitmq-queues kaf kcat kcctl kaskade"
             " pulsar-admin pulsarctl nsq_to_nsq emqx emqx_ctl mosquitto_ctrl confluent ccloud zbctl temporal tctl"
             " activemq artemis bin/pulsar-admin", "clear clear_permissions clear_policy clear_parameter clear_topic_permissions"
             " forget_cluster_node purge_queue delete_queue clear_password clear_user_limits clear-backlog skip-all unload"),
        _row("data.destroy", "backups", "borg borgmatic restic kopia duplicity duplicacy rdiff-backup bacula bconsole attic bup"
             " barman pgbackrest wal-g wal-e tarsnap autorestic rustic proxmox-backup-client zfs-auto-snapshot snapper timeshift",
             "break-lock compact expire forget recreate stanza-delete", "rollback"),
        _row("data.destroy", "stored files", "rclone mc mcli s3cmd s5cmd s4cmd b2 wasabi azcopy ossutil ossutil64 coscmd obsutil"
             " swiftly storj uplink ipfs gdrive rucio iput irm dvc lakectl", "cleanup delete-bucket delete-file-version deletebucket"
             " delobj unset expire"),
        _row("data.destroy", "a search index", "algolia meilisearch typesense elastic ecctl opensearch-cli solr bin/solr vespa"
             " weaviate qdrant milvus_cli pinecone esctl", "clear"),
        _row("data.destroy", "a database", "supabase firebase turso neonctl neon planetscale xata fauna fauna-shell atlas mongocli"
             " cockroach ysqlsh yugabyted couchbase-cli cbimport cypher-shell neo4j-admin nodetool rethinkdb arangosh tiup"
             " tidb-cli timescale aiven avn hasura convex edgedb gel surreal patronictl repmgr pg_dropcluster gbase"
             " redis-trib mongocli tigris ravendb dolt dgraph tarantool tarantoolctl astra dse scylla clickhousectl",
             "clean bucket-flush decommission removenode assassinate clearsnapshot down"),
        _row("data.destroy", "a data set or a pipeline", "airflow dagster prefect dbt-cloud databricks dbfs snow snowsql hdfs"
             " hadoop mlflow wandb huggingface-cli hf clearml kaggle feast metaflow nessie conduktor ksql spark-admin"
             " fivetran airbyte abctl great_expectations dremio starrocks superset metabase zenml sagemaker ray",
             "clear -rm -rmr rmr expunge"),
    )
    for name, cli in row
}  # fmt: skip

for _name in ("borg", "rclone"):
    CLIS[_name] = Cli("data.destroy", CLIS[_name].what, CLIS[_name].also | {"move", "moveto", "sync", "bisync", "rmdirs"})
