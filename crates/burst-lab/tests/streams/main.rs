//! Open watches as a client sees them, over HTTP/1.1 and HTTP/2.

mod client;
mod connection_faults;
mod stream_faults;
mod watches;
