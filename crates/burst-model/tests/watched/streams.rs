//! A leader whose responses are read as they come, from a server that ends, breaks and silences its streams.

mod history;
mod life;
mod objects;
mod pace;
mod proxy;
mod server;
