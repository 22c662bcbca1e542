//! A `/tmp` that can be written to, where the driver's root file system cannot: the JVM unpacks native libraries into it,
//! Spark makes folders there, entry points write to it. Only a pod template can make the root read-only, and one that
//! mounts something there already has thought of it.

use k8s_openapi::api::core::v1::{Container, Pod};

use crate::objects::driver_pod::DRIVER_CONTAINER;
use crate::objects::driver_volumes::{empty_dir, mount};

const TMP: &str = "/tmp";
const TMP_VOLUME: &str = "airlock-tmp";

/// `pod`, with an emptyDir at `/tmp` if it needs one.
#[must_use]
pub fn with_writable_tmp(mut pod: Pod) -> Pod {
    if let Some(spec) = &mut pod.spec
        && let Some(driver) = spec.containers.iter_mut().find(|it| it.name == DRIVER_CONTAINER && needs_tmp(it))
    {
        driver.volume_mounts.get_or_insert_default().push(mount(TMP_VOLUME, TMP));
        spec.volumes.get_or_insert_default().push(empty_dir(TMP_VOLUME, None));
    }
    pod
}

fn needs_tmp(driver: &Container) -> bool {
    let read_only = driver.security_context.as_ref().and_then(|context| context.read_only_root_filesystem);
    let mut paths = driver.volume_mounts.iter().flatten().map(|mount| mount.mount_path.trim_end_matches('/'));
    read_only == Some(true) && paths.all(|path| path != TMP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::pod_template::PodTemplate;
    use crate::objects::driver_pod::driver_pod;
    use crate::test_settings::{context, names, settings};
    use k8s_openapi::api::core::v1::SecurityContext;

    fn mounts_at_tmp(read_only: Option<bool>, given: Option<&str>) -> Vec<String> {
        let security_context =
            Some(SecurityContext { read_only_root_filesystem: read_only, ..SecurityContext::default() });
        let volume_mounts = given.map(|path| vec![mount("own", path)]);
        let container = Container { security_context, volume_mounts, ..Container::default() };
        let mut settings = settings();
        settings.driver.template = Some(PodTemplate { pod: Pod::default(), container });
        let spec = driver_pod(&settings, &names(), &context()).spec.unwrap();
        let mounts = spec.containers[0].volume_mounts.clone().unwrap().into_iter();
        mounts.filter(|mount| mount.mount_path.starts_with(TMP)).map(|mount| mount.name).collect()
    }

    #[test]
    fn d06_a_read_only_root_gets_a_tmp_unless_the_template_has_one() {
        assert_eq!(mounts_at_tmp(Some(true), None), [TMP_VOLUME]);
        assert_eq!(mounts_at_tmp(Some(true), Some("/tmp/")), ["own"]);
        for read_only in [None, Some(false)] {
            assert!(mounts_at_tmp(read_only, None).is_empty());
        }
    }
}
