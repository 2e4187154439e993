//! Where a request may come from: decided from its headers alone, before any route is looked at.
//! Who is asking is decided later (`caller`), what they may do after that (`permit`).

use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use porthole_door::{
    COOKIE_DEVICE, COOKIE_DEVICE_PORT, COOKIE_GUEST, COOKIE_GUEST_PORT, PATH_LINK,
};

/// What the owner configured about where requests come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Names under which a proxy with TLS reaches this server, lower-case, without a port.
    pub https_hosts: Vec<String>,
    /// Whether this server encrypts by itself: then it is reached with https only.
    pub own_tls: bool,
}

/// The address of whoever opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub std::net::IpAddr);

/// How the client reached the server: what `Host` said, once that was found allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `http` on loopback, else `https`.
    pub scheme: &'static str,
    /// The host as in a URL, lower-case.
    pub host: String,
    /// The port that the client sees.
    pub port: u16,
}

impl Place {
    /// Returns the name of the cookie of an owner's device here.
    pub fn device_cookie(&self) -> String {
        self.cookie(COOKIE_DEVICE, COOKIE_DEVICE_PORT)
    }

    /// Returns the name of a guest's cookie here.
    pub fn guest_cookie(&self) -> String {
        self.cookie(COOKIE_GUEST, COOKIE_GUEST_PORT)
    }

    /// All ports of a host share one cookie jar, so on loopback the name tells them apart.
    fn cookie(&self, https: &str, http: &str) -> String {
        match self.scheme {
            "https" => https.to_owned(),
            _ => format!("{http}{}", self.port),
        }
    }

    fn matches_origin(&self, origin: &str) -> bool {
        let Some((scheme, rest)) = origin.split_once("://") else {
            return false;
        };
        scheme == self.scheme
            && split_port(rest).is_some_and(|(host, port)| {
                host.eq_ignore_ascii_case(&self.host)
                    && port.unwrap_or(default_port(self.scheme)) == self.port
            })
    }
}

/// Why a request was not let in. The sentences never repeat the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No, several, or a strange `Host`.
    #[error("the request names no host, or several")]
    BadHost,
    /// A host that is not on the list.
    #[error("this server is not reached under that name")]
    UnknownHost,
    /// A whole URL in place of a path.
    #[error("this server is no proxy")]
    AbsoluteForm,
    /// Another origin is asking.
    #[error("another site may not talk to this server")]
    ForeignOrigin,
    /// An upgrade without `Origin`.
    #[error("the link needs an `Origin`")]
    NoOrigin,
    /// A proxy that was not configured stands between.
    #[error("a proxy stands between that this server was not told of")]
    Forwarded,
}

impl Refusal {
    /// Returns what to do next, for a person; may be empty.
    pub fn hint(self) -> &'static str {
        match self {
            Self::UnknownHost | Self::Forwarded => {
                "use `http://127.0.0.1:PORT`, or start the server with `--allow-host HOST`"
            }
            Self::NoOrigin | Self::ForeignOrigin => "use the `porthole` launcher",
            Self::BadHost | Self::AbsoluteForm => "",
        }
    }
}

/// Headers by which proxies tell of the client behind them.
const FORWARDED: [&str; 6] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Returns where the request may be answered as coming from.
///
/// # Errors
/// [`Refusal`]
pub fn admit(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    rules: &Rules,
) -> Result<Place, Refusal> {
    if uri.authority().is_some() || *method == Method::CONNECT {
        return Err(Refusal::AbsoluteForm);
    }
    let host = single(headers, header::HOST.as_str()).ok_or(Refusal::BadHost)?;
    let place = place(host, is_forwarded_https(headers), rules)?;
    check_forwarded(headers, &place)?;
    check_fetch_metadata(headers)?;
    check_origin(uri, headers, &place)?;
    Ok(place)
}

/// A loopback name is reached without encryption, unless this server encrypts, or a proxy that does was told of.
fn place(host: &str, forwarded_https: bool, rules: &Rules) -> Result<Place, Refusal> {
    let (name, port) = split_port(host).ok_or(Refusal::BadHost)?;
    let name = name.to_ascii_lowercase();
    let (loopback, listed) = (is_loopback(&name), rules.https_hosts.contains(&name));
    let scheme = match (loopback, listed) {
        (true, _) if rules.own_tls => "https",
        (true, true) if forwarded_https => "https",
        (true, _) => "http",
        (false, true) => "https",
        (false, false) => return Err(Refusal::UnknownHost),
    };
    Ok(Place {
        scheme,
        host: name,
        port: port.unwrap_or(default_port(scheme)),
    })
}

fn is_forwarded_https(headers: &HeaderMap) -> bool {
    single(headers, "x-forwarded-proto") == Some("https")
}

/// Returns host and port of `text`; `None` where it is none: user, path, blanks, a bad port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let host_end = match text.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(host_end);
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        None => return None,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
    (!host.is_empty() && host.bytes().all(plain)).then_some((host, port))
}

fn default_port(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

/// Only literals and `localhost` itself: a name that *resolves* to loopback is what a rebinding page has.
fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host == "[::1]"
        || host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
}

fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.to_str().ok())?
}

/// On loopback nothing forwards; behind a configured proxy only its scheme is looked at.
fn check_forwarded(headers: &HeaderMap, place: &Place) -> Result<(), Refusal> {
    let refused = match place.scheme {
        "https" => headers
            .get_all("x-forwarded-proto")
            .iter()
            .any(|value| value != "https"),
        _ => FORWARDED.iter().any(|name| headers.contains_key(*name)),
    };
    if refused {
        Err(Refusal::Forwarded)
    } else {
        Ok(())
    }
}

/// What a browser says about a request cannot be forged by a page. Nothing of this server is shown inside another page.
fn check_fetch_metadata(headers: &HeaderMap) -> Result<(), Refusal> {
    let any = |name, refused: fn(&HeaderValue) -> bool| headers.get_all(name).iter().any(refused);
    let foreign = any("sec-fetch-site", |v| v != "same-origin" && v != "none");
    let framed = any("sec-fetch-dest", |v| {
        matches!(
            v.as_bytes(),
            b"frame" | b"iframe" | b"embed" | b"object" | b"fencedframe"
        )
    });
    if foreign || framed {
        Err(Refusal::ForeignOrigin)
    } else {
        Ok(())
    }
}

/// An upgrade is a GET, so a check that spares GET would spare it: the link always needs its own origin.
fn check_origin(uri: &Uri, headers: &HeaderMap, place: &Place) -> Result<(), Refusal> {
    if !headers.contains_key(header::ORIGIN) {
        let upgrade = headers.contains_key(header::UPGRADE) || uri.path() == PATH_LINK;
        return if upgrade {
            Err(Refusal::NoOrigin)
        } else {
            Ok(())
        };
    }
    match single(headers, header::ORIGIN.as_str()) {
        Some(origin) if place.matches_origin(origin) => Ok(()),
        _ => Err(Refusal::ForeignOrigin),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn rules() -> Rules {
        Rules {
            https_hosts: vec!["box.example".to_owned()],
            own_tls: false,
        }
    }

    fn ask(uri: &str, headers: &[(&str, &str)]) -> Result<Place, Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                name.parse::<HeaderName>().expect("a name"),
                HeaderValue::from_str(value).expect("a value"),
            );
        }
        admit(&Method::GET, &uri.parse().expect("a uri"), &map, &rules())
    }

    #[test]
    fn hosts_on_the_list_are_let_in() {
        for (host, scheme, port) in [
            ("127.0.0.1:7420", "http", 7420),
            ("127.9.9.9", "http", 80),
            ("localhost:1", "http", 1),
            ("LOCALHOST:1", "http", 1),
            ("[::1]:7420", "http", 7420),
            ("box.example", "https", 443),
            ("Box.Example:443", "https", 443),
        ] {
            let place = ask("/", &[("host", host)]).expect(host);
            assert_eq!((place.scheme, place.port), (scheme, port), "{host}");
        }
    }

    #[test]
    fn loopback_is_encrypted_only_where_the_server_does_or_a_proxy_that_was_told_of() {
        let ask = |headers: &[(&str, &str)], rules: &Rules| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                let name = name.parse::<HeaderName>().expect("a name");
                map.append(name, HeaderValue::from_str(value).expect("a value"));
            }
            let scheme = |place: Place| (place.scheme, place.port);
            admit(&Method::GET, &Uri::from_static("/"), &map, rules).map(scheme)
        };
        let host = ("host", "localhost:8443");
        let forwarded = ("x-forwarded-proto", "https");
        let mut rules = Rules::default();
        assert_eq!(ask(&[host], &rules), Ok(("http", 8443)));
        assert_eq!(ask(&[host, forwarded], &rules), Err(Refusal::Forwarded));
        rules.https_hosts.push("localhost".to_owned());
        assert_eq!(ask(&[host], &rules), Ok(("http", 8443)));
        assert_eq!(ask(&[host, forwarded], &rules), Ok(("https", 8443)));
        let rules = Rules {
            own_tls: true,
            ..Rules::default()
        };
        assert_eq!(ask(&[host], &rules), Ok(("https", 8443)));
        assert_eq!(
            ask(&[("host", "evil.example")], &rules),
            Err(Refusal::UnknownHost)
        );
    }

    #[test]
    fn every_other_host_is_refused() {
        for host in [
            "",
            "evil.example",
            "localhost.evil",
            "localhost.",
            "127.0.0.1.evil.example",
            "127.0.0.1:7420.evil",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "127.0.0.1:+1",
            "user@127.0.0.1",
            "0.0.0.0:7420",
            "[::]:7420",
            "[::1",
            "[::1]x",
            "::1",
            "127.1",
            "2130706433",
            "0x7f.1",
            "box.example.",
            "sub.box.example",
            "192.168.0.2",
            "127.0.0.1 ",
            "127.0.0.1/x",
            "169.254.169.254",
        ] {
            assert!(
                matches!(
                    ask("/", &[("host", host)]),
                    Err(Refusal::BadHost | Refusal::UnknownHost)
                ),
                "{host:?}"
            );
        }
        assert_eq!(ask("/", &[]), Err(Refusal::BadHost));
        let twice = [("host", "127.0.0.1:1"), ("host", "127.0.0.1:1")];
        assert_eq!(ask("/", &twice), Err(Refusal::BadHost));
    }

    #[test]
    fn a_whole_url_is_refused() {
        let host = [("host", "127.0.0.1:1")];
        assert_eq!(
            ask("http://127.0.0.1:1/health", &host),
            Err(Refusal::AbsoluteForm)
        );
    }

    #[test]
    fn an_origin_must_equal_the_host() {
        let with = |origin| {
            ask(
                "/door/redeem",
                &[("host", "127.0.0.1:7420"), ("origin", origin)],
            )
        };
        assert!(with("http://127.0.0.1:7420").is_ok());
        for origin in [
            "null",
            "",
            "https://127.0.0.1:7420",
            "http://127.0.0.1:7421",
            "http://127.0.0.1",
            "http://localhost:7420",
            "http://127.0.0.1:7420.evil",
            "http://evil.example",
            "127.0.0.1:7420",
            "http://127.0.0.1:7420/",
            "http://x@127.0.0.1:7420",
        ] {
            assert_eq!(with(origin), Err(Refusal::ForeignOrigin), "{origin}");
        }
        let twice = [
            ("host", "127.0.0.1:1"),
            ("origin", "http://127.0.0.1:1"),
            ("origin", "http://127.0.0.1:1"),
        ];
        assert_eq!(ask("/", &twice), Err(Refusal::ForeignOrigin));
        let https = [("host", "box.example"), ("origin", "https://box.example")];
        assert!(ask(PATH_LINK, &https).is_ok());
    }

    #[test]
    fn the_link_and_every_upgrade_need_an_origin() {
        let host = ("host", "127.0.0.1:1");
        assert_eq!(ask(PATH_LINK, &[host]), Err(Refusal::NoOrigin));
        assert_eq!(
            ask("/", &[host, ("upgrade", "websocket")]),
            Err(Refusal::NoOrigin)
        );
        assert!(ask(PATH_LINK, &[host, ("origin", "http://127.0.0.1:1")]).is_ok());
    }

    #[test]
    fn another_site_in_a_browser_is_refused_even_without_an_origin() {
        for (site, ok) in [
            ("same-origin", true),
            ("none", true),
            ("same-site", false),
            ("cross-site", false),
            ("x", false),
        ] {
            let asked = ask("/", &[("host", "127.0.0.1:1"), ("sec-fetch-site", site)]);
            assert_eq!(asked.is_ok(), ok, "{site}");
        }
    }

    #[test]
    fn nothing_is_shown_inside_another_page() {
        for (dest, ok) in [
            ("document", true),
            ("empty", true),
            ("iframe", false),
            ("frame", false),
            ("embed", false),
            ("object", false),
        ] {
            let asked = ask("/", &[("host", "127.0.0.1:1"), ("sec-fetch-dest", dest)]);
            assert_eq!(asked.is_ok(), ok, "{dest}");
        }
    }

    #[test]
    fn forwarded_headers_are_for_configured_hosts_only() {
        for name in FORWARDED {
            let asked = ask("/", &[("host", "127.0.0.1:1"), (name, "https")]);
            assert_eq!(asked, Err(Refusal::Forwarded), "{name}");
        }
        let proxied = |proto| {
            ask(
                "/",
                &[("host", "box.example"), ("x-forwarded-proto", proto)],
            )
        };
        assert!(proxied("https").is_ok());
        assert_eq!(proxied("http"), Err(Refusal::Forwarded));
    }

    #[test]
    fn the_cookie_is_named_by_the_port_that_the_client_sees() {
        let place = ask("/", &[("host", "localhost:9000")]).expect("in");
        assert_eq!(place.device_cookie(), "porthole-device-9000");
        assert_eq!(place.guest_cookie(), "porthole-guest-9000");
        let place = ask("/", &[("host", "box.example")]).expect("in");
        assert_eq!(place.device_cookie(), "__Host-porthole-device");
        assert_eq!(place.guest_cookie(), "__Host-porthole-guest");
    }

    proptest::proptest! {
        #[test]
        fn any_host_and_origin_are_decided(host in ".{0,60}", origin in ".{0,60}") {
            if let Some((name, _)) = split_port(&host) {
                let _ = is_loopback(name);
            }
            let place = Place { scheme: "http", host: "127.0.0.1".to_owned(), port: 1 };
            let _ = place.matches_origin(&origin);
        }
    }
}
