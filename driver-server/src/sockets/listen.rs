//! The listening socket: IPv6 and IPv4 on one port, or IPv4 alone where the kernel has no IPv6. Who may connect is the
//! matter of `connection`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket};

use crate::error::Refusal;

/// Connections that the kernel holds before they are accepted.
const BACKLOG: u32 = 1024;

/// Listens at `address`.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Refusal> {
    let bound = try_bind(address).or_else(|error| {
        if address.ip().is_unspecified() && address.is_ipv6() && lacks_ipv6(&error) {
            try_bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port()))
        } else {
            Err(error)
        }
    });
    bound.map_err(|error| Refusal::io(format!("cannot listen at {address}"), &error))
}

fn try_bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
    socket.set_reuseaddr(true)?;
    if address.is_ipv6() {
        // Whatever the node's default is, IPv4 clients are served as well.
        rustix::net::sockopt::set_ipv6_v6only(&socket, false)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Whether `error` says that there is no IPv6: not built in, or switched off.
fn lacks_ipv6(error: &io::Error) -> bool {
    [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_default_address_serves_ipv4_clients() {
        let listener = bind("[::]:0".parse().unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (client, server) = tokio::join!(tokio::net::TcpStream::connect(("127.0.0.1", port)), listener.accept());
        client.unwrap();
        server.unwrap();
    }

    #[test]
    fn only_the_lack_of_ipv6_leads_to_ipv4() {
        assert!(lacks_ipv6(&Errno::AFNOSUPPORT.into()));
        assert!(!lacks_ipv6(&Errno::ADDRINUSE.into()));
    }
}
