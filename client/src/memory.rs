//! Memory sizes in whole MiB. (Stand-in until the settings half is merged.)

/// A size in whole MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory(u64);

impl Memory {
    /// So many MiB.
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib)
    }

    /// In MiB.
    #[must_use]
    pub const fn mib(self) -> u64 {
        self.0
    }
}
