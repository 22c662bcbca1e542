//! A namespace of its own for each test, with a service account that may run a driver. When the test fails, what lies in
//! it is shown; then it is deleted, unless `AIRLOCK_E2E_KEEP` is set.

use std::future::Future;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::{Event, Namespace, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use shared::tls;

use crate::environment;

/// Longest wait for something of the cluster that takes a moment.
const PATIENCE: Duration = Duration::from_mins(1);

/// A namespace of one test.
#[derive(Clone)]
pub struct TestNamespace {
    /// Its name.
    pub name: String,
    /// A client with the rights of the kubeconfig.
    pub client: Client,
}

/// Runs `test` in a namespace of its own.
pub async fn with_namespace<F, Fut>(test: F)
where
    F: FnOnce(TestNamespace) -> Fut,
    Fut: Future<Output = ()>,
{
    let namespace = TestNamespace::create().await;
    let outcome = std::panic::AssertUnwindSafe(test(namespace.clone())).catch_unwind().await;
    if outcome.is_err() {
        namespace.show().await;
    }
    if std::env::var_os("AIRLOCK_E2E_KEEP").is_none() {
        namespace.delete().await;
    }
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// A client for the cluster under test.
pub async fn client() -> Client {
    tls::install_crypto_provider();
    let kubeconfig = Kubeconfig::read_from(environment::kubeconfig()).expect("AIRLOCK_E2E_KUBECONFIG can be read");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("the kubeconfig is complete")).expect("the kubeconfig makes a client")
}

/// Waits until `check` gives a value, asking again and again; says `what` was waited for when it never does.
pub async fn eventually<T, Fut>(what: &str, mut check: impl FnMut() -> Fut) -> T
where
    Fut: Future<Output = Option<T>>,
{
    let asked = async {
        loop {
            if let Some(value) = check().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("waited {PATIENCE:?} for {what}"))
}

impl TestNamespace {
    async fn create() -> Self {
        let client = client().await;
        let mut random = [0; 4];
        getrandom::fill(&mut random).expect("random bytes");
        let name = format!("airlock-e2e-{:08x}", u32::from_be_bytes(random));
        let object = json!({"metadata": {"name": name, "labels": {"airlock-e2e": "true"}}});
        create::<Namespace>(&Api::all(client.clone()), object).await;
        let namespace = Self { name, client };
        create::<ServiceAccount>(&namespace.api(), json!({"metadata": {"name": "spark"}})).await;
        let binding = json!({
            "metadata": {"name": "spark"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "ServiceAccount", "name": "spark", "namespace": namespace.name}],
        });
        create::<RoleBinding>(&namespace.api(), binding).await;
        namespace
    }

    /// The objects of one kind in this namespace.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// All objects of one kind.
    pub async fn list<K>(&self) -> Vec<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
        K::DynamicType: Default,
    {
        self.api::<K>().list(&ListParams::default()).await.expect("the list is allowed").items
    }

    /// The only driver pod.
    pub async fn driver(&self) -> Option<Pod> {
        let pods = self.api::<Pod>().list(&ListParams::default().labels("spark-role=driver")).await;
        let mut pods = pods.expect("pods can be listed").items;
        assert!(pods.len() <= 1, "{} drivers", pods.len());
        pods.pop()
    }

    /// The driver's log so far.
    pub async fn driver_log(&self) -> String {
        let Some(pod) = self.driver().await else { return "no driver pod".to_owned() };
        let name = pod.metadata.name.expect("pods have names");
        self.api::<Pod>().logs(&name, &LogParams::default()).await.unwrap_or_else(|error| error.to_string())
    }

    /// Asserts that nothing of Airlock is left but what upstream leaves too: the pod and its headless Service.
    pub async fn assert_nothing_left(&self) {
        let ports: Vec<_> = self.node_ports().await;
        assert!(ports.is_empty(), "node ports left: {ports:?}");
        let secrets = self.list::<Secret>().await;
        let names: Vec<_> = secrets.iter().filter_map(|secret| secret.metadata.name.as_deref()).collect();
        assert!(names.is_empty(), "Secrets left: {names:?}");
    }

    /// Node ports that Services of this namespace hold.
    pub async fn node_ports(&self) -> Vec<u16> {
        let services = self.list::<Service>().await;
        let specs = services.into_iter().filter_map(|service| service.spec);
        let ports = specs.flat_map(|spec| spec.ports.unwrap_or_default());
        ports.filter_map(|port| port.node_port).filter_map(|port| u16::try_from(port).ok()).collect()
    }

    /// Makes an object in this namespace.
    pub async fn create_object<K>(&self, object: serde_json::Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
        K::DynamicType: Default,
    {
        create::<K>(&self.api(), object).await;
    }

    /// From now on Pod Security `restricted` is enforced here.
    pub async fn restrict(&self) {
        let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
        let namespaces = Api::<Namespace>::all(self.client.clone());
        let patched = namespaces.patch(&self.name, &PatchParams::default(), &Patch::Merge(labels)).await;
        patched.expect("the namespace can be labelled");
    }

    async fn show(&self) {
        for pod in self.list::<Pod>().await {
            let status = serde_json::to_string_pretty(&pod.status).unwrap_or_default();
            eprintln!("--- pod {}: {status}", pod.metadata.name.unwrap_or_default());
        }
        for event in self.list::<Event>().await {
            eprintln!("--- event {}: {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default());
        }
        eprintln!("--- driver's log:\n{}", self.driver_log().await);
    }

    async fn delete(&self) {
        let pods = self.api::<Pod>();
        // A driver that still runs would hold the namespace for its grace period.
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        let _ = pods.delete_collection(&at_once, &ListParams::default()).await;
        let _ = Api::<Namespace>::all(self.client.clone()).delete(&self.name, &DeleteParams::default()).await;
    }
}

async fn create<K>(api: &Api<K>, object: serde_json::Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("the object is well-formed");
    api.create(&PostParams::default(), &object).await.expect("the object can be created");
}
