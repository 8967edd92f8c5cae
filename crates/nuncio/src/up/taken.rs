//! A port that somebody else has: who, and what to do about it.

use std::{fs, io, net::SocketAddr};

use anyhow::anyhow;
use nuncio_server::Error;

/// Explains why an address cannot be listened at.
pub(super) fn explain(error: io::Error, address: SocketAddr) -> anyhow::Error {
    if error.kind() != io::ErrorKind::AddrInUse {
        return anyhow::Error::new(error);
    }
    taken(address.port())
}

/// Explains why the server of one agent has no place.
pub(crate) fn not_bound(error: Error, port: u16) -> anyhow::Error {
    match &error {
        Error::Bind(source) if source.kind() == io::ErrorKind::AddrInUse => taken(port),
        _ => error.into(),
    }
}

fn taken(port: u16) -> anyhow::Error {
    let who = match holder(port) {
        Some((process, name)) => format!("process {process} ({name}) has it: stop that"),
        None => "another program has it: stop that".to_owned(),
    };
    anyhow!("port {port} is taken; {who}, or take any port that is free with --port 0")
}

/// Finds the process that listens at a port, and its name, where the system tells.
fn holder(port: u16) -> Option<(u32, String)> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let mut tables = tables.iter().flatten();
    let socket = tables.find_map(|table| listening(table, port))?;
    let wanted = format!("socket:[{socket}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    for process in processes {
        let Some(id) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // Others' processes are not ours to look into.
        let Ok(files) = fs::read_dir(process.path().join("fd")) else { continue };
        let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        if links.any(|link| link.to_str() == Some(&wanted)) {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some((id, name.trim().to_owned()));
        }
    }
    None
}

/// Finds the socket that listens at a port in a table of the kernel's.
fn listening(table: &str, port: u16) -> Option<&str> {
    let port = format!(":{port:04X}");
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        (local.ends_with(&port) && state == "0A").then(|| words.nth(5)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::listening;

    #[test]
    fn a_listening_socket_is_found_in_the_kernels_table() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0
   1: 0100007F:1CFD 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0";
        assert_eq!(listening(table, 7420), Some("4711"));
        assert_eq!(listening(table, 7421), None);
    }
}
