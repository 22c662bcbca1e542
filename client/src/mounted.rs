//! What the submission makes before its pod, since the pod mounts it: first asked about, then created all at once, then
//! given to the pod, so that it goes with it. What the objects hold is known by `objects/mounted_objects`.

use futures::future::{join_all, try_join_all};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use shared::error_code::ErrorCode;

use crate::cleanup::{Created, Kind};
use crate::cluster::{Cluster, Namespaced};
use crate::error::SubmitError;
use crate::objects::driver_objects::owner_patch;
use crate::objects::driver_pod::PodContext;
use crate::objects::mounted_objects::{claims, config_maps, secrets};
use crate::settings::Settings;
use crate::settings::names::SubmissionNames;

const EXISTING_CLAIM: &str = "a claim that exists needs its options.claimName only, no storageClass and no sizeLimit";

/// The objects, as wanted or as made.
#[derive(Clone)]
pub struct Mounted {
    secrets: Vec<Secret>,
    config_maps: Vec<ConfigMap>,
    claims: Vec<PersistentVolumeClaim>,
}

impl Mounted {
    /// What these settings need.
    #[must_use]
    pub fn of(settings: &Settings, names: &SubmissionNames, context: &PodContext) -> Self {
        let driver = &settings.driver;
        Self {
            secrets: secrets(driver, names, context),
            config_maps: config_maps(driver, names, context),
            claims: claims(driver, names, context),
        }
    }

    /// All of it as text would show it: Secrets with their keys only.
    pub fn shown(&self) -> Result<Vec<serde_json::Value>, SubmitError> {
        let without_data = |secret: &Secret| {
            let mut secret = secret.clone();
            secret.data.iter_mut().flat_map(|data| data.values_mut()).for_each(|bytes| bytes.0.clear());
            secret
        };
        let secrets = self.secrets.iter().map(|secret| serde_json::to_value(without_data(secret)));
        let config_maps = self.config_maps.iter().map(serde_json::to_value);
        let claims = self.claims.iter().map(serde_json::to_value);
        let shown: Result<Vec<_>, _> = secrets.chain(config_maps).chain(claims).collect();
        shown.map_err(|error| SubmitError::bug("an object cannot be shown").because(error))
    }

    /// What the cluster has against it.
    pub async fn dry_run(&self, cluster: &Cluster) -> Vec<SubmitError> {
        let (secrets, config_maps, claims) = tokio::join!(
            dry_run(cluster, &self.secrets),
            dry_run(cluster, &self.config_maps),
            dry_run(cluster, &self.claims),
        );
        let claims = claims.into_iter().map(|error| match error.code() {
            ErrorCode::NameTaken => error.hint(EXISTING_CLAIM),
            _ => error,
        });
        secrets.into_iter().chain(config_maps).chain(claims).collect()
    }

    /// Creates all of it.
    pub async fn create(self, created: &Created<'_>) -> Result<Self, SubmitError> {
        let (secrets, config_maps, claims) = tokio::try_join!(
            create(created, Kind::DriverSecret, &self.secrets),
            create(created, Kind::ConfigMap, &self.config_maps),
            create(created, Kind::Claim, &self.claims),
        )?;
        Ok(Self { secrets, config_maps, claims })
    }

    /// Makes `owner` the owner of all of it.
    pub async fn own(&self, cluster: &Cluster, owner: &OwnerReference) -> Result<(), SubmitError> {
        tokio::try_join!(
            own(cluster, &self.secrets, owner),
            own(cluster, &self.config_maps, owner),
            own(cluster, &self.claims, owner),
        )?;
        Ok(())
    }
}

async fn dry_run<K: Namespaced>(cluster: &Cluster, objects: &[K]) -> Vec<SubmitError> {
    let asked = join_all(objects.iter().map(|object| cluster.dry_run(object))).await;
    asked.into_iter().filter_map(Result::err).collect()
}

async fn create<K: Namespaced>(created: &Created<'_>, kind: Kind, objects: &[K]) -> Result<Vec<K>, SubmitError> {
    try_join_all(objects.iter().map(|object| created.create(kind, object))).await
}

async fn own<K: Namespaced>(cluster: &Cluster, objects: &[K], owner: &OwnerReference) -> Result<(), SubmitError> {
    let give = |object: &K| {
        let (name, patch) = (object.name_any(), owner_patch(&object.uid().unwrap_or_default(), owner));
        async move { cluster.patch::<K>(&name, &patch).await.map(drop) }
    };
    try_join_all(objects.iter().map(give)).await.map(drop)
}
