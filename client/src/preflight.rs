//! Everything that the cluster can be asked before anything is made, in one round: the rights, and a dry run of each
//! object. All problems come back as one list. A review that is itself refused decides nothing: the dry runs do.

use futures::future::join_all;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    SelfSubjectRulesReview, SelfSubjectRulesReviewSpec, SubjectRulesReviewStatus,
};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use shared::error_code::ErrorCode;

use crate::cluster::Cluster;
use crate::cluster::rights;
use crate::door::plan::door_services;
use crate::error::{Problems, SubmitError};
use crate::mounted::Mounted;
use crate::objects::driver_objects::headless_service;
use crate::objects::driver_pod::{PodContext, driver_pod};
use crate::objects::network_policy::network_policy;
use crate::settings::names::SubmissionNames;
use crate::settings::{NetworkPolicyChoice, Settings};

/// What preflight found to be possible.
pub struct Cleared {
    /// As the namespace wants it.
    pub context: PodContext,
    /// What becomes of the executors' network policy.
    pub network_policy: PolicyDecision,
}

/// What becomes of the executors' network policy.
pub enum PolicyDecision {
    /// It is made.
    Make,
    /// None is wanted.
    None,
    /// It cannot be made, and need not be.
    LeftOut(SubmitError),
}

/// Asks, and returns `context` as the namespace wants it. `who` is named where the cluster does not say who we are.
pub async fn preflight(
    cluster: &Cluster,
    settings: &Settings,
    names: &SubmissionNames,
    context: PodContext,
    who: &str,
) -> Result<Cleared, Problems> {
    let mounted = Mounted::of(settings, names, &context);
    let policy = network_policy(names, &context, None);
    let service = headless_service(settings, names, &context, None);
    let doors = door_services(&settings.door, names, &context);
    let (rights, mounted, policy, pod, service, door) = tokio::join!(
        check_rights(cluster, settings, who),
        mounted.dry_run(cluster),
        check_policy(cluster, settings.network_policy, &policy),
        check_pod(cluster, settings, names, context),
        cluster.dry_run(&service),
        check_doors(cluster, doors),
    );
    let (context, pod) = match pod {
        Ok(context) => (Some(context), None),
        Err(error) => (None, Some(error)),
    };
    let (network_policy, policy) = match policy {
        Ok(decision) => (decision, None),
        Err(error) => (PolicyDecision::None, Some(error)),
    };
    let refused: Vec<_> = mounted.into_iter().chain(pod).chain(service.err()).chain(door.err()).chain(policy).collect();
    Problems::check(one_list(rights.err(), refused))?;
    let context = context.ok_or_else(|| SubmitError::bug("preflight found nothing and no pod"))?;
    Ok(Cleared { context, network_policy })
}

/// A dry run says it best: it knows rights, admission and whether the cluster has such a thing.
async fn check_policy(
    cluster: &Cluster,
    choice: NetworkPolicyChoice,
    policy: &NetworkPolicy,
) -> Result<PolicyDecision, SubmitError> {
    if choice == NetworkPolicyChoice::Never {
        return Ok(PolicyDecision::None);
    }
    match cluster.dry_run(policy).await {
        Ok(()) => Ok(PolicyDecision::Make),
        Err(error) if choice == NetworkPolicyChoice::Auto => Ok(PolicyDecision::LeftOut(error)),
        Err(error) => Err(error.hint("do without: --conf spark.airlock.networkPolicy=never")),
    }
}

/// One door that can be made is enough, and one that needs no Service is one: it shows when it is dialled.
async fn check_doors(cluster: &Cluster, services: Vec<Option<Service>>) -> Result<(), SubmitError> {
    if services.iter().any(Option::is_none) {
        return Ok(());
    }
    let asked = join_all(services.iter().flatten().map(|service| cluster.dry_run(service))).await;
    if asked.iter().any(Result::is_ok) { Ok(()) } else { asked.into_iter().next().unwrap_or(Ok(())) }
}

/// The rights first; what they explain is not said again by a dry run. A server that cannot be reached at all, or does not
/// know us, fails every question in the same way: that is one problem.
fn one_list(rights: Option<SubmitError>, dry_runs: Vec<SubmitError>) -> Vec<SubmitError> {
    let explained = rights.as_ref().is_some_and(|error| error.code() == ErrorCode::Rights);
    let rest = dry_runs.into_iter().filter(|error| !explained || error.code() != ErrorCode::Rights);
    let mut list: Vec<_> = rights.into_iter().chain(rest).collect();
    match list.iter().position(|error| no_access(error.code())) {
        Some(index) => vec![list.swap_remove(index)],
        None => list,
    }
}

const fn no_access(code: ErrorCode) -> bool {
    use ErrorCode::{ApiBusy, ApiTimeout, ApiUnreachable, KubeAuth, TlsApiServer};
    matches!(code, ApiBusy | ApiTimeout | ApiUnreachable | KubeAuth | TlsApiServer)
}

/// A dry run of the pod. A namespace that demands it gets a pod that never runs as root: images of Spark's own do not.
async fn check_pod(
    cluster: &Cluster,
    settings: &Settings,
    names: &SubmissionNames,
    mut context: PodContext,
) -> Result<PodContext, SubmitError> {
    let Err(error) = cluster.dry_run(&driver_pod(settings, names, &context)).await else { return Ok(context) };
    let text = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    if error.code() != ErrorCode::PodSecurity || context.non_root || !text.contains("runAsNonRoot") {
        return Err(error);
    }
    context.non_root = true;
    cluster.dry_run(&driver_pod(settings, names, &context)).await.map(|()| context)
}

async fn check_rights(cluster: &Cluster, settings: &Settings, who: &str) -> Result<(), SubmitError> {
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(cluster.namespace().to_owned()) };
    let question = SelfSubjectRulesReview { spec, ..SelfSubjectRulesReview::default() };
    let status = match cluster.review(&question).await {
        Ok(answer) => answer.status.unwrap_or_else(incomplete),
        Err(error) if refusal(&error) => incomplete(),
        Err(error) => return Err(error),
    };
    let missing = rights::missing(&rights::needed(settings), &status);
    if missing.is_empty() {
        return Ok(());
    }
    let who = identity(cluster).await.unwrap_or_else(|| who.to_owned());
    let namespace = cluster.namespace();
    let list = missing.join("; ");
    Err(SubmitError::new(ErrorCode::Rights, format!("{who} lacks rights in namespace {namespace}: {list}"))
        .hint("ask the administrator for a role with them"))
}

fn incomplete() -> SubjectRulesReviewStatus {
    SubjectRulesReviewStatus { incomplete: true, ..SubjectRulesReviewStatus::default() }
}

fn refusal(error: &SubmitError) -> bool {
    matches!(error.code(), ErrorCode::Rights | ErrorCode::Policy | ErrorCode::NotFound)
}

/// Who the cluster says we are.
async fn identity(cluster: &Cluster) -> Option<String> {
    let answer = cluster.review(&SelfSubjectReview::default()).await.ok()?;
    answer.status?.user_info?.username
}
