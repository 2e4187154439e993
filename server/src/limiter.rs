//! How often something may be tried: an allowance that fills up again with time, for everyone together and for each
//! address. The clock is an argument.

use std::{
    collections::HashMap,
    net::IpAddr,
    time::{Duration, Instant},
};

/// Tries of one address at once.
const BURST: f64 = 20.0;
/// Tries a second of one address, in the long run.
const RATE: f64 = 0.5;
/// Tries at once, from everywhere together.
const BURST_OF_ALL: f64 = 200.0;
/// Tries a second from everywhere together, in the long run.
const RATE_OF_ALL: f64 = 10.0;
/// Addresses that are remembered. Those whose allowance is full again are forgotten first.
const ADDRESSES: usize = 4_096;

/// The allowances.
#[derive(Debug)]
pub struct Limiter {
    all: Allowance,
    each: HashMap<IpAddr, Allowance>,
}

#[derive(Clone, Copy, Debug)]
struct Allowance {
    left: f64,
    at: Instant,
}

impl Limiter {
    /// Returns full allowances.
    pub fn new(now: Instant) -> Self {
        Self {
            all: Allowance::full(BURST_OF_ALL, now),
            each: HashMap::new(),
        }
    }

    /// Takes one try of an address. One that has used up its own takes nothing from the others.
    ///
    /// # Errors
    /// How long to wait for the next.
    pub fn take(&mut self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let address = neighbourhood(address);
        if self.each.len() >= ADDRESSES && !self.each.contains_key(&address) {
            self.each
                .retain(|_, allowance| allowance.now(RATE, BURST, now) < BURST);
        }
        if self.each.len() >= ADDRESSES && !self.each.contains_key(&address) {
            return Err(Duration::from_secs_f64(1.0 / RATE));
        }
        let own = self
            .each
            .entry(address)
            .or_insert(Allowance::full(BURST, now));
        own.check(RATE, BURST, now)?;
        self.all.check(RATE_OF_ALL, BURST_OF_ALL, now)?;
        own.left -= 1.0;
        self.all.left -= 1.0;
        Ok(())
    }
}

impl Allowance {
    fn full(burst: f64, now: Instant) -> Self {
        Self {
            left: burst,
            at: now,
        }
    }

    fn now(&mut self, rate: f64, burst: f64, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * rate).min(burst);
        self.at = now;
        self.left
    }

    fn check(&mut self, rate: f64, burst: f64, now: Instant) -> Result<(), Duration> {
        let left = self.now(rate, burst, now);
        if left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - left) / rate));
        }
        Ok(())
    }
}

/// One person easily has all addresses of an IPv6 network of 64 bits.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6((v6.to_bits() & !u128::from(u64::MAX)).into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn an_allowance_is_used_up_and_fills_again() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        for _ in 0..20 {
            assert_eq!(limiter.take(v4(1), start), Ok(()));
        }
        let wait = limiter.take(v4(1), start).expect_err("used up");
        assert_eq!(wait, Duration::from_secs(2));
        assert_eq!(
            limiter.take(v4(2), start),
            Ok(()),
            "another is not hindered"
        );
        assert_eq!(limiter.take(v4(1), start + wait), Ok(()));
        assert!(limiter.take(v4(1), start + wait).is_err());
    }

    #[test]
    fn one_address_alone_does_not_use_up_what_all_have() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        for _ in 0..10_000 {
            let _ = limiter.take(v4(1), start);
        }
        assert_eq!(limiter.take(v4(2), start), Ok(()));
    }

    #[test]
    fn many_addresses_together_are_bounded_in_tries_and_in_memory() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        let let_in = (0..100_000).filter(|n| limiter.take(v4(*n), start).is_ok());
        assert_eq!(let_in.count(), 200);
        assert!(limiter.each.len() <= ADDRESSES);
        let later = start + Duration::from_secs(60);
        assert_eq!(limiter.take(v4(200_000), later), Ok(()), "room comes back");
    }

    #[test]
    fn a_whole_network_of_ipv6_is_one_address() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        let of = |host: u64| IpAddr::V6((u128::from(host) | 0x2001_0db8 << 96).into());
        let let_in = (0..100).filter(|n| limiter.take(of(*n), start).is_ok());
        assert_eq!(let_in.count(), 20);
    }
}
