//! The driver's working directory, with what users of cluster mode expect in it: files, Python files and the application
//! as links into the bundle, archives unpacked under their alias. No byte of a file is copied. How an archive is read is
//! the matter of `archive`.

use std::io;

use cap_std::fs::Dir;
use shared::driver_contract::{BUNDLE, WORK_DIR};
use shared::manifest::{Manifest, Member, MemberKind};

use crate::directory::{Directory, make_dir};
use crate::error::Refusal;
use crate::launch::archive;

/// Makes the working directory of the verified bundle of `manifest`.
pub fn prepare(directory: &Directory, manifest: &Manifest) -> Result<(), Refusal> {
    let made = make_dir(directory.handle(), WORK_DIR);
    let work_dir = made.map_err(|error| Refusal::io("the working directory cannot be made", &error))?;
    for member in manifest.members() {
        if let Some(name) = member.work_dir_name() {
            place(directory, &work_dir, member, name)?;
        }
    }
    Ok(())
}

fn place(directory: &Directory, work_dir: &Dir, member: &Member, name: &str) -> Result<(), Refusal> {
    let format = if member.kind == MemberKind::Archive { archive::format_of(&member.name) } else { None };
    let failed = |error: &io::Error| Refusal::io(format!("{name} cannot be put into the working directory"), error);
    let Some(format) = format else {
        // As upstream does, an archive of a format that Spark does not know is there as the file it is.
        let target = format!("../{BUNDLE}/{}", member.path());
        return work_dir.symlink_contents(target, name).map_err(|error| failed(&error));
    };
    let path = format!("{BUNDLE}/{}", member.path());
    let file = directory.handle().open(path).map_err(|error| failed(&error))?;
    let target = make_dir(work_dir, name).map_err(|error| failed(&error))?;
    archive::unpack(&member.path(), file.into_std(), format, &target)
}
