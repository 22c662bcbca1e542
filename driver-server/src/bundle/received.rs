//! Shows a proved bundle: the driver's properties file is added, then one rename gives all files their final place. That
//! every file is proved is checked before, in `unpack`.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use shared::driver_contract::{BUNDLE, CONF, PROPERTIES_FILE, STAGING};
use shared::java_properties;
use shared::manifest::Launch;

use crate::directory::{Directory, make_dir};
use crate::error::Refusal;

/// Mode of the properties file: it may hold secrets, and the driver runs under the server's own UID.
const PROPERTIES_MODE: u32 = 0o600;

/// Makes the staged files the bundle.
pub fn publish(directory: &Directory, launch: &Launch) -> Result<(), Refusal> {
    let root = directory.handle();
    let written = root.open_dir(STAGING).and_then(|staging| write_properties(&staging, launch));
    written.map_err(|error| Refusal::io("the driver's properties file cannot be written", &error))?;
    root.rename(STAGING, root, BUNDLE).map_err(|error| Refusal::io("the bundle cannot be given its name", &error))
}

fn write_properties(staging: &Dir, launch: &Launch) -> io::Result<()> {
    let conf = match staging.open_dir(CONF) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_dir(staging, CONF)?,
        opened => opened?,
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(PROPERTIES_MODE);
    let mut file = conf.open_with(PROPERTIES_FILE, &options)?.into_std();
    file.write_all(java_properties::write(&launch.properties).as_bytes())?;
    file.set_permissions(Permissions::from_mode(PROPERTIES_MODE))
}
