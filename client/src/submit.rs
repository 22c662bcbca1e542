//! A submission from preflight to its end, as a list of steps (DESIGN section 3). Before the launch, any failure and any
//! interrupt takes everything away again; after it, the door and the Secret go at once, whatever happened, and the driver
//! is never touched. Between "launch sent" and "launch answered" nothing is guessed: `launch` finds out.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use shared::error_code::ErrorCode;
use tokio::time::timeout;

use crate::cleanup::{Created, Kind, Leftover};
use crate::cluster::Cluster;
use crate::door::Site;
use crate::door::enter::{Entrance, OpenDoor};
use crate::driver::attend::{attend, how_to_look, interrupted as interrupted_after_launch};
use crate::driver::driver_watch::{DriverPod, await_server, until_ended};
use crate::driver::launched::{LaunchTarget, Launched, settle};
use crate::driver::phase_lines::{self, Application};
use crate::driver::pod_state::Ended;
use crate::error::{Problems, SubmitError};
use crate::interrupt::{Interrupt, Interrupts};
use crate::mounted::Mounted;
use crate::objects::driver_objects::{headless_service, owned_by, owner_patch, tls_secret};
use crate::objects::driver_pod::{DRIVER_CONTAINER, PodContext, driver_pod};
use crate::objects::network_policy::network_policy;
use crate::preflight::{Cleared, PolicyDecision, preflight};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::settings::names::SubmissionNames;
use crate::sweep::sweep;
use crate::upload::transfer::Transfer;

/// Longest life of a certificate.
const CERTIFICATE_LIMIT: Duration = Duration::from_hours(24);
/// When an upload fails, how long the pod's own reason for it is waited for.
const POD_REASON_LIMIT: Duration = Duration::from_secs(2);

/// Shortest time in which what was made is removed.
const REMOVAL_FLOOR: Duration = Duration::from_secs(10);

/// How a submission went well.
#[derive(Debug)]
pub enum Outcome {
    /// Launched, and nobody waits.
    Deployed,
    /// The driver has ended; its exit code is the submission's.
    Ended(Ended),
    /// For commands that follow no driver: what was asked for is done.
    Done,
}

/// One submission: what is submitted where.
pub struct Submission<'a, T> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Who submits, for messages and `SPARK_USER`.
    pub who: &'a str,
    /// `SPARK_USER`.
    pub user: &'a str,
    /// The settings.
    pub settings: &'a Settings,
    /// The names.
    pub names: &'a SubmissionNames,
    /// The middle part.
    pub transfer: &'a T,
    /// Where to say what goes on.
    pub progress: &'a Progress,
}

/// Runs `steps`; a panic in them is an error like others, so that the clean-up still runs (T04).
async fn bug_for_panic<R>(steps: impl Future<Output = Result<R, Problems>>) -> Result<R, Problems> {
    let caught = AssertUnwindSafe(steps).catch_unwind().await;
    caught.unwrap_or_else(|_| Err(SubmitError::bug("airlock panicked; the lines above say where").into()))
}

/// What stands when the bundle is verified.
struct Uploaded<C> {
    driver: DriverPod,
    door: OpenDoor,
    connection: C,
}

impl<T: Transfer> Submission<'_, T> {
    /// Runs the submission.
    pub async fn run(&self, interrupts: &mut Interrupts) -> Result<Outcome, Problems> {
        let created = Created::nothing(self.cluster, &self.names.submission_id, self.progress);
        let mut pressed = None;
        let uploaded = tokio::select! {
            biased;
            interrupt = interrupts.next() => Err(interrupted(*pressed.insert(interrupt)).into()),
            uploaded = bug_for_panic(Box::pin(self.up_to_upload(&created))) => uploaded,
        };
        let mut uploaded = match uploaded {
            Ok(uploaded) => uploaded,
            Err(error) => return Err(self.clean_up(&created, error, interrupts, &mut pressed).await),
        };
        let launched = self.launch(&mut uploaded, interrupts, &mut pressed).await;
        self.finish_anyway(interrupts, &mut pressed, self.close(&created)).await;
        match (launched, pressed) {
            (Launched::No(error), _) => Err(self.clean_up(&created, error.into(), interrupts, &mut pressed).await),
            (Launched::Unknown(error), _) => Err(error.into()),
            (Launched::Yes, Some(interrupt)) => Err(interrupted_after_launch(
                self.cluster,
                &uploaded.driver,
                &self.application(),
                self.settings.follow.on_interrupt,
                interrupt,
                interrupts,
                self.progress,
            )
            .await
            .into()),
            (Launched::Yes, None) => self.follow(&uploaded.driver, interrupts).await,
        }
    }

    /// Steps 3 to 7.
    async fn up_to_upload(&self, created: &Created<'_>) -> Result<Uploaded<T::Connection>, Problems> {
        let Self { cluster, settings, names, transfer, progress, .. } = self;
        check_size(transfer.bundle_bytes(), settings.driver.max_bundle_bytes)?;
        let context = pod_context(settings, cluster.namespace(), self.user, transfer.bundle_bytes())?;
        let (context, ()) =
            tokio::join!(preflight(cluster, settings, names, context, self.who), sweep(cluster, progress));
        let Cleared { context, network_policy } = context?;
        self.say_policy(&network_policy);
        let server_name = format!("{}.{}.svc", names.headless_service, cluster.namespace());
        let lifetime = settings.deadlines.lease.min(CERTIFICATE_LIMIT);
        let (certificates, credentials) = transfer.issue(&server_name, lifetime)?;

        let secret = created.create(Kind::Secret, &tls_secret(names, &context, &certificates)).await?;
        let mounted = Mounted::of(settings, names, &context).create(created).await?;
        let pod = created.create(Kind::Pod, &driver_pod(settings, names, &context)).await?;
        let owner = owned_by(&pod).ok_or_else(|| SubmitError::bug("the pod has no uid"))?;
        let service = headless_service(settings, names, &context, Some(&owner));
        tokio::try_join!(
            self.own(&secret, &owner),
            mounted.own(cluster, &owner),
            created.create(Kind::HeadlessService, &service),
            self.guard_executors(&network_policy, &context, &owner),
        )?;

        let driver = DriverPod { name: pod.name_any(), uid: owner.uid.clone() };
        progress.say(format!("created {}", cluster.what::<Pod>(&driver.name)));
        let pod = await_server(cluster, &driver, &settings.deadlines, progress).await?;

        let entrance = Entrance {
            site: self.site(&context),
            transfer: *transfer,
            server_name: &server_name,
            credentials: &credentials,
            created,
            owner: &owner,
            pod: &pod,
            removal_limit: self.removal_limit(),
        };
        let (connection, door) = self.beside_the_pod(&driver, entrance.deliver()).await?;
        Ok(Uploaded { driver, door, connection })
    }

    /// Makes the pod the Secret's owner.
    async fn own(&self, secret: &Secret, owner: &OwnerReference) -> Result<Secret, SubmitError> {
        let patch = owner_patch(&secret.uid().unwrap_or_default(), owner);
        self.cluster.patch(&secret.name_any(), &patch).await
    }

    /// It is the pod's from its first moment, so nothing else has to remove it.
    async fn guard_executors(
        &self,
        decision: &PolicyDecision,
        context: &PodContext,
        owner: &OwnerReference,
    ) -> Result<(), SubmitError> {
        match decision {
            PolicyDecision::Make => {
                self.cluster.create(&network_policy(self.names, context, Some(owner))).await.map(drop)
            }
            PolicyDecision::None | PolicyDecision::LeftOut(_) => Ok(()),
        }
    }

    fn say_policy(&self, decision: &PolicyDecision) {
        if let PolicyDecision::LeftOut(error) = decision {
            self.progress.say(format!(
                "warning: executors get no network policy, other pods may connect to them: {}; \
                 --conf spark.airlock.networkPolicy=never leaves it out in silence",
                refusal(error)
            ));
        }
    }

    /// Where the doors lead.
    const fn site<'a>(&'a self, context: &'a PodContext) -> Site<'a> {
        let Self { cluster, settings, names, progress, .. } = self;
        let (deadlines, settings) = (&settings.deadlines, &settings.door);
        Site { cluster, settings, deadlines, names, context, progress }
    }

    /// Runs `upload` beside a watch on the pod. A pod that dies ends it at once, and its reason is the better one.
    async fn beside_the_pod<C>(
        &self,
        driver: &DriverPod,
        upload: impl Future<Output = Result<C, SubmitError>>,
    ) -> Result<C, SubmitError> {
        let mut pod_end = std::pin::pin!(until_ended(self.cluster, driver));
        let failure = tokio::select! {
            uploaded = upload => match uploaded {
                Ok(uploaded) => return Ok(uploaded),
                Err(error) => error,
            },
            error = &mut pod_end => return Err(error),
        };
        Err(timeout(POD_REASON_LIMIT, pod_end).await.unwrap_or(failure))
    }

    /// Step 8. An interrupt does not cut it off: whether the driver runs must be known.
    async fn launch(
        &self,
        uploaded: &mut Uploaded<T::Connection>,
        interrupts: &mut Interrupts,
        pressed: &mut Option<Interrupt>,
    ) -> Launched {
        let Uploaded { driver, door, connection } = uploaded;
        let target = LaunchTarget { cluster: self.cluster, driver, door };
        let settling = settle(self.transfer, connection, &target, self.settings.deadlines.reach);
        let settled = self.finish_anyway(interrupts, pressed, settling).await;
        settled.unwrap_or_else(|| Launched::Unknown(self.maybe_launched(pressed.unwrap_or(Interrupt::Int))))
    }

    /// Runs `work` to its end. One interrupt is noted, a second one leaves at once: then there is no result.
    async fn finish_anyway<R>(
        &self,
        interrupts: &mut Interrupts,
        pressed: &mut Option<Interrupt>,
        work: impl Future<Output = R>,
    ) -> Option<R> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                result = &mut work => return Some(result),
                interrupt = interrupts.next() => {
                    if pressed.replace(interrupt).is_some() {
                        return None;
                    }
                    self.progress.say("interrupted: finishing this step, interrupt again to leave at once");
                }
            }
        }
    }

    /// Step 9. What cannot be removed now goes with the driver's end or its lease, so it is said and no more.
    async fn close(&self, created: &Created<'_>) {
        let limit = self.removal_limit();
        let (door, secret) = tokio::join!(created.remove(Kind::Door, limit), created.remove(Kind::Secret, limit));
        self.say_left(door.into_iter().chain(secret));
    }

    /// A short limit for calls is no reason to leave a port behind.
    fn removal_limit(&self) -> Duration {
        self.settings.deadlines.api.max(REMOVAL_FLOOR)
    }

    fn say_left(&self, left: impl IntoIterator<Item = Leftover>) {
        for left in left {
            self.progress.say(format!("could not remove {}: {}", left.what, left.why));
        }
    }

    /// Step 10.
    async fn follow(&self, driver: &DriverPod, interrupts: &mut Interrupts) -> Result<Outcome, Problems> {
        let application = self.application();
        if !self.settings.follow.wait {
            self.progress.say(phase_lines::deployed(&application));
            return Ok(Outcome::Deployed);
        }
        let (follow, progress) = (&self.settings.follow, self.progress);
        let attending = attend(self.cluster, driver, DRIVER_CONTAINER, &application, follow, interrupts, progress);
        Ok(Outcome::Ended(attending.await?))
    }

    /// Takes everything away before the launch.
    async fn clean_up(
        &self,
        created: &Created<'_>,
        error: Problems,
        interrupts: &mut Interrupts,
        pressed: &mut Option<Interrupt>,
    ) -> Problems {
        let removing = created.remove_all(self.removal_limit());
        match self.finish_anyway(interrupts, pressed, removing).await {
            Some(left) => self.say_left(left),
            None => {
                for what in created.remaining() {
                    self.progress.say(format!("may still be there: {what}"));
                }
            }
        }
        error
    }

    fn application(&self) -> Application {
        Application {
            name: self.settings.application.name.clone(),
            id: self.names.app_id.clone(),
            namespace: self.cluster.namespace().to_owned(),
            pod: self.names.pod.to_string(),
        }
    }

    fn maybe_launched(&self, interrupt: Interrupt) -> SubmitError {
        let what = "interrupted twice; whether the driver runs is not known";
        how_to_look(SubmitError::new(interrupt.code(), what), &self.application())
    }
}

/// What the pod depends on besides settings and names, with a lease that begins now.
pub fn pod_context(
    settings: &Settings,
    namespace: &str,
    user: &str,
    bundle_bytes: u64,
) -> Result<PodContext, SubmitError> {
    let lease = SignedDuration::try_from(settings.deadlines.lease).unwrap_or(SignedDuration::from_hours(24));
    let lease_until = Timestamp::now()
        .checked_add(lease)
        .map_err(|error| SubmitError::new(ErrorCode::ConfValue, "spark.airlock.timeout.lease").because(error))?;
    Ok(PodContext {
        namespace: namespace.to_owned(),
        spark_version: settings.spark_version.clone(),
        user: user.to_owned(),
        lease_until,
        bundle_bytes,
        non_root: false,
    })
}

/// The driver server would refuse it, but only with a door open.
fn check_size(bytes: u64, limit: u64) -> Result<(), SubmitError> {
    if bytes <= limit {
        return Ok(());
    }
    let what = format!("the inputs make a bundle of {bytes} bytes, more than the limit of {limit}");
    Err(SubmitError::new(ErrorCode::TooLarge, what)
        .hint(format!("allow it: --conf spark.airlock.upload.maxBytes={bytes}"))
        .hint("or name large inputs by a remote address, or put them into the image (local:///path)"))
}

/// What the cluster says against it, in its own words where there are some.
fn refusal(error: &SubmitError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn interrupted(interrupt: Interrupt) -> SubmitError {
    SubmitError::new(interrupt.code(), "interrupted before the launch; nothing was started")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::report::Failure;

    #[test]
    fn a11_a_bundle_over_the_limit_is_refused_before_anything_is_made() {
        assert!(check_size(10, 10).is_ok());
        let error = check_size(11, 10).unwrap_err();
        assert_eq!(error.code(), ErrorCode::TooLarge);
        assert!(error.hints()[0].contains("maxBytes=11"));
    }

    #[tokio::test]
    async fn t04_a_panic_is_a_bug_that_is_reported() {
        let panics = async { if true { panic!("as told") } else { Ok(()) } };
        let error = bug_for_panic(panics).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Bug);
    }
}
