//! The whole server over real sockets, with workers that do as they are told: this program itself, started again.

mod attacks;
mod commands;
mod door;
mod fake_worker;
mod harm;
mod life;
mod link;
mod process;
mod real;
mod rights;
mod search;
mod settings;
mod share;
mod tls;
mod transfer;
mod world;

#[test]
#[ignore = "the other tests start this as the worker of a session"]
fn fake_worker() {
    fake_worker::run();
}
