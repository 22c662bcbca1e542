//! The stable error codes, and the exit status of each. Codes are an interface: scripts and people search for them, so
//! one that has been released is never renamed and never used for something else.

use std::fmt;
use std::str::FromStr;

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $status:literal;)+) => {
        /// What failed, as a word that stays the same over versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ErrorCode {
            /// Every code there is, in the order of their exit status.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The code as it is printed and sent, for example `E_DIGEST`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The process's exit status for this code: the classes of `sysexits.h`.
            #[must_use]
            pub const fn exit_status(self) -> u8 {
                match self { $(Self::$variant => $status),+ }
            }
        }
    };
}

error_codes! {
    /// An option or argument that cannot be used as given.
    Usage = "E_USAGE", 64;
    /// A configuration key that does not exist, is not allowed here, or is no key at all.
    ConfKey = "E_CONF_KEY", 64;
    /// A configuration value that its key does not take.
    ConfValue = "E_CONF_VALUE", 64;
    /// A master address that is none of the accepted forms.
    Master = "E_MASTER", 64;
    /// A URI scheme that cannot be used for this kind of input.
    Scheme = "E_SCHEME", 64;
    /// Two inputs that would have the same name in the driver.
    DupName = "E_DUP_NAME", 64;
    /// An address that would carry secrets in clear.
    Plaintext = "E_PLAINTEXT", 64;

    /// An archive entry whose name is no path of the manifest.
    ArchivePath = "E_ARCHIVE_PATH", 65;
    /// An archive entry that is no regular file.
    ArchiveType = "E_ARCHIVE_TYPE", 65;
    /// An archive that two readers could read differently, or that is none.
    ArchiveFormat = "E_ARCHIVE_FORMAT", 65;
    /// The manifest is unusable, or the archive holds something else than it says.
    Manifest = "E_MANIFEST", 65;
    /// Data that ends before its end.
    Truncated = "E_TRUNCATED", 65;
    /// A compressed stream whose own checksum or length does not hold.
    Crc = "E_CRC", 65;
    /// Bytes after the end.
    TrailingData = "E_TRAILING_DATA", 65;
    /// More than a stated limit allows.
    TooLarge = "E_TOO_LARGE", 65;
    /// A file whose SHA-256 differs between the two sides.
    Digest = "E_DIGEST", 65;

    /// An input that does not exist.
    InputMissing = "E_INPUT_MISSING", 66;
    /// An input that cannot be opened.
    InputUnreadable = "E_INPUT_UNREADABLE", 66;
    /// An input that is no regular file.
    NotAFile = "E_NOT_A_FILE", 66;
    /// A pattern that matches nothing.
    NoMatch = "E_NO_MATCH", 66;
    /// An object of the cluster that does not exist.
    NotFound = "E_NOT_FOUND", 66;

    /// No address led to the driver server.
    DriverUnreachable = "E_DRIVER_UNREACHABLE", 69;
    /// The API server did not answer at all.
    ApiUnreachable = "E_API_UNREACHABLE", 69;
    /// The driver's image cannot be pulled or started.
    Image = "E_IMAGE", 69;
    /// The driver pod cannot start, for a reason that the cluster named.
    PodNotStartable = "E_POD_NOT_STARTABLE", 69;
    /// The driver pod was evicted.
    Evicted = "E_EVICTED", 69;
    /// What was uploaded is gone, and nobody will send it again.
    UploadLost = "E_UPLOAD_LOST", 69;
    /// The driver pod ended or vanished and left no exit status.
    DriverLost = "E_DRIVER_LOST", 69;
    /// The image's entry point could not be executed.
    Launch = "E_LAUNCH", 69;

    /// A fault of Airlock itself.
    Bug = "E_BUG", 70;

    /// The door's port range is used up.
    PortsExhausted = "E_PORTS_EXHAUSTED", 73;
    /// A quota of the namespace forbids the object.
    Quota = "E_QUOTA", 73;
    /// The API server refuses the object as it is.
    Invalid = "E_INVALID_OBJECT", 73;
    /// An object of that name exists and is not ours.
    NameTaken = "E_NAME_TAKEN", 73;

    /// An input changed while it was read.
    InputChanged = "E_INPUT_CHANGED", 74;
    /// Fewer bytes lie on the receiver's disk than were sent.
    ShortTransfer = "E_SHORT_TRANSFER", 74;
    /// No space left where the bundle is received.
    DiskFull = "E_DISK_FULL", 74;
    /// Any other failure to read or write a file.
    Io = "E_IO", 74;

    /// The API server asked to come back later for too long.
    ApiBusy = "E_API_BUSY", 75;
    /// The API server did not answer in time.
    ApiTimeout = "E_API_TIMEOUT", 75;
    /// The upload made no progress for too long.
    UploadStalled = "E_UPLOAD_STALLED", 75;
    /// A phase of the submission took longer than its limit.
    PhaseTimeout = "E_PHASE_TIMEOUT", 75;
    /// Nobody uploaded anything to the driver server for too long.
    Idle = "E_IDLE", 75;
    /// The same submission is already running.
    AlreadyRunning = "E_ALREADY_RUNNING", 75;

    /// Something answered that is not the driver server of this submission.
    TlsPeerNotDriver = "E_TLS_PEER_NOT_DRIVER", 76;
    /// The API server's certificate cannot be trusted.
    TlsApiServer = "E_TLS_API_SERVER", 76;
    /// The two clocks differ by more than the certificates' life.
    Clock = "E_CLOCK", 76;
    /// An upload that does not begin at the offset the server stated.
    Offset = "E_OFFSET", 76;
    /// A request or reply that is not of this protocol.
    Protocol = "E_PROTOCOL", 76;

    /// The API server refused for lack of rights.
    Rights = "E_RIGHTS", 77;
    /// A pod that is not a Spark driver's, which commands for drivers leave alone.
    NotADriver = "E_NOT_A_DRIVER", 77;
    /// Pod Security refused the pod.
    PodSecurity = "E_POD_SECURITY", 77;
    /// An admission policy or webhook refused the object.
    Policy = "E_POLICY", 77;

    /// The API server did not accept the credentials.
    KubeAuth = "E_KUBE_AUTH", 78;
    /// The kubeconfig cannot be used.
    Kubeconfig = "E_KUBECONFIG", 78;
    /// A properties file cannot be used.
    Properties = "E_PROPERTIES", 78;

    /// Ended by SIGINT.
    Interrupted = "E_INTERRUPTED", 130;
    /// Ended by SIGTERM.
    Terminated = "E_TERMINATED", 143;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The text is no code of this version.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is no error code of this version")]
pub struct UnknownErrorCode(String);

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text).ok_or_else(|| UnknownErrorCode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_code_is_unique_and_reads_back() {
        let names: HashSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
    }

    #[test]
    fn every_status_is_a_class_of_the_design() {
        let classes = [64, 65, 66, 69, 70, 73, 74, 75, 76, 77, 78, 130, 143];
        assert!(ErrorCode::ALL.iter().all(|code| classes.contains(&code.exit_status())));
    }
}
