//! `SHA256SUMS` as it comes, line by line against the text that the server makes from its own digests. The text is never
//! held as a whole: a bundle may have a hundred thousand lines.

use sha2::{Digest as _, Sha256};
use shared::error_code::ErrorCode;
use shared::manifest::Member;

use crate::bundle::staging::{Sha256Digest, hex};
use crate::error::Refusal;

/// Most names that one refusal lists.
const NAMES_SHOWN: usize = 10;

/// The comparison at some byte of the text.
#[derive(Default)]
pub struct SumsCheck {
    member: usize,
    line: Vec<u8>,
    at: usize,
    hasher: Sha256,
    wrong: Vec<String>,
    wrong_count: usize,
    current_is_wrong: bool,
}

impl SumsCheck {
    /// Compares the next bytes; `digests` are the server's own, one a member.
    pub fn push(&mut self, members: &[Member], digests: &[Sha256Digest], mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.at == self.line.len() && !self.next_line(members, digests) {
                return;
            }
            let take = bytes.len().min(self.line.len() - self.at);
            let (now, rest) = bytes.split_at(take);
            self.current_is_wrong |= now != &self.line[self.at..self.at + take];
            self.at += take;
            bytes = rest;
            if self.at == self.line.len() {
                self.end_line(members);
            }
        }
    }

    /// The SHA-256 of the server's own text, if every line that came was equal to it.
    pub fn finish(self) -> Result<Sha256Digest, Refusal> {
        if self.wrong_count == 0 {
            return Ok(self.hasher.finalize().into());
        }
        let more = self.wrong_count - self.wrong.len();
        let names = self.wrong.join(", ");
        let names = if more == 0 { names } else { format!("{names} and {more} more") };
        let detail = format!("the SHA-256 of what arrived differs from the one that was sent: {names}");
        Err(Refusal::new(ErrorCode::Digest, detail)
            .hint("submit again; if it repeats, something on the way changes bytes"))
    }

    fn next_line(&mut self, members: &[Member], digests: &[Sha256Digest]) -> bool {
        let (Some(member), Some(digest)) = (members.get(self.member), digests.get(self.member)) else { return false };
        self.line = format!("{}  {}\n", hex(digest), member.path()).into_bytes();
        self.hasher.update(&self.line);
        self.at = 0;
        true
    }

    fn end_line(&mut self, members: &[Member]) {
        if std::mem::take(&mut self.current_is_wrong) {
            self.wrong_count += 1;
            if self.wrong.len() < NAMES_SHOWN {
                self.wrong.extend(members.get(self.member).map(Member::path));
            }
        }
        self.member += 1;
    }
}
