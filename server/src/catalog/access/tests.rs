//! Links, devices and guests as they are kept.

use super::*;

fn id(text: &str) -> AccessId {
    AccessId::parse(text).expect("an id")
}

fn request(text: &str) -> RequestId {
    RequestId::parse(text).expect("an id")
}

fn open() -> (tempfile::TempDir, Catalog) {
    let data = tempfile::tempdir().expect("a folder");
    let catalog = Catalog::open(data.path()).expect("opens");
    (data, catalog)
}

fn a_device(name: &str, now_ms: u64) -> Device {
    Device {
        id: id(name),
        name: "laptop".to_owned(),
        created_ms: now_ms,
        used_ms: now_ms,
        from: "127.0.0.1".to_owned(),
    }
}

fn a_share(name: &str, once: bool) -> ShareLink {
    ShareLink {
        id: id(name),
        session: SessionId::parse("s1").expect("an id"),
        name: "the team".to_owned(),
        mode: GuestMode::Full,
        may_approve: true,
        once,
        used: false,
        created_ms: 10,
        expires_ms: 100,
    }
}

fn come(
    catalog: &mut Catalog,
    link: u8,
    cookie: u8,
    had: Option<u8>,
    now_ms: u64,
) -> Result<(Grant, bool), RedeemError> {
    let had = had.map(|byte| [byte; 32]);
    let guest = NewGuest {
        id: id(&format!("g-{cookie}")),
        name: "mira",
        cookie: &[cookie; 32],
        had: had.as_ref(),
        now_ms,
    };
    catalog.redeem_share(&[link; 32], &guest)
}

#[test]
fn a_link_is_used_once_and_tells_why_not_again() {
    let (_data, mut catalog) = open();
    catalog.add_owner_link(&[1; 32], 0, 100).expect("kept");
    catalog.add_owner_link(&[2; 32], 0, 100).expect("kept");
    let mut redeem = |link, device: &str, at, cookie| {
        catalog.redeem(&[link; 32], &a_device(device, at), &[cookie; 32])
    };
    assert!(matches!(redeem(9, "a", 1, 10), Err(RedeemError::Unknown)));
    assert!(redeem(1, "a", 1, 10).is_ok());
    assert!(matches!(redeem(1, "b", 1, 11), Err(RedeemError::Used)));
    assert!(matches!(redeem(2, "b", 100, 11), Err(RedeemError::Expired)));
    let found = catalog.device_of(&[10; 32]).expect("reads").expect("there");
    assert_eq!(found, a_device("a", 1));
    assert_eq!(catalog.device_of(&[11; 32]).expect("reads"), None);
    assert!(
        catalog
            .touch_device(&id("a"), "10.0.0.1", 7)
            .expect("writes")
    );
    let devices = catalog.devices().expect("reads");
    assert_eq!(
        (devices[0].from.as_str(), devices[0].used_ms),
        ("10.0.0.1", 7)
    );
    assert!(catalog.remove_device(&id("a")).expect("writes"));
    assert!(!catalog.remove_device(&id("a")).expect("writes"));
    assert!(!catalog.touch_device(&id("a"), "", 8).expect("writes"));
}

#[test]
fn a_share_link_serves_many_and_each_has_a_grant_of_their_own() {
    let (_data, mut catalog) = open();
    catalog
        .add_share(&a_share("s-1", false), &request("r1"), &[1; 32])
        .expect("kept");
    let (first, new) = come(&mut catalog, 1, 20, None, 11).expect("in");
    assert!(new && first.share.used);
    let (second, _) = come(&mut catalog, 1, 21, None, 12).expect("in");
    assert_ne!(first.id, second.id);
    let (again, new) = come(&mut catalog, 1, 22, Some(20), 13).expect("in");
    assert!(!new, "who comes again is no second guest");
    assert_eq!((again.id, again.created_ms), (first.id.clone(), 11));
    assert_eq!(catalog.grants(14).expect("reads").len(), 2);
    let found = catalog.grant_of(&[20; 32], 14).expect("reads");
    assert_eq!(found.expect("in").share, first.share);
    assert_eq!(
        catalog.grant_of(&[22; 32], 14).expect("reads"),
        None,
        "a cookie that was not needed admits nobody"
    );
    assert!(matches!(
        come(&mut catalog, 9, 23, None, 14),
        Err(RedeemError::Unknown)
    ));
}

#[test]
fn a_cookie_of_another_link_is_no_way_around_a_link_for_one() {
    let (_data, mut catalog) = open();
    catalog
        .add_share(&a_share("s-1", true), &request("r1"), &[1; 32])
        .expect("kept");
    catalog
        .add_share(&a_share("s-2", false), &request("r2"), &[2; 32])
        .expect("kept");
    come(&mut catalog, 2, 30, None, 11).expect("in");
    come(&mut catalog, 1, 31, None, 11).expect("the first");
    assert!(matches!(
        come(&mut catalog, 1, 32, Some(30), 12),
        Err(RedeemError::Used)
    ));
    assert!(
        come(&mut catalog, 1, 33, Some(31), 12).is_ok(),
        "its holder"
    );
}

#[test]
fn the_end_of_a_link_is_the_end_of_its_guests() {
    let (_data, mut catalog) = open();
    for (share, link) in [("s-1", 1), ("s-2", 2), ("s-3", 3)] {
        catalog
            .add_share(&a_share(share, false), &request(share), &[link; 32])
            .expect("kept");
        come(&mut catalog, link, 40 + link, None, 11).expect("in");
    }
    assert!(catalog.remove_grant(&id("g-41")).expect("writes"));
    assert_eq!(catalog.grant_of(&[41; 32], 12).expect("reads"), None);
    assert!(
        come(&mut catalog, 1, 50, None, 12).is_ok(),
        "the link stays"
    );
    assert!(catalog.remove_share(&id("s-2")).expect("writes"));
    assert!(!catalog.remove_share(&id("s-2")).expect("writes"));
    assert_eq!(catalog.grant_of(&[42; 32], 12).expect("reads"), None);
    assert!(catalog.grant_of(&[43; 32], 99).expect("reads").is_some());
    assert_eq!(catalog.grant_of(&[43; 32], 100).expect("reads"), None);
    assert!(!catalog.touch_grant(&id("g-43"), 100).expect("writes"));
    assert!(matches!(
        come(&mut catalog, 3, 51, None, 100),
        Err(RedeemError::Expired)
    ));
    let session = SessionId::parse("s1").expect("an id");
    assert!(catalog.remove_shares_of(&session).expect("writes"));
    assert!(catalog.shares(12).expect("reads").is_empty());
    assert!(catalog.grants(12).expect("reads").is_empty());
}

#[test]
fn a_lost_answer_is_made_good_by_another_link_unless_the_first_was_used() {
    let (_data, mut catalog) = open();
    let request = request("r1");
    catalog
        .add_share(&a_share("s-1", false), &request, &[1; 32])
        .expect("kept");
    catalog
        .add_share(&a_share("s-2", false), &request, &[2; 32])
        .expect("replaced");
    assert_eq!(catalog.shares(11).expect("reads").len(), 1);
    assert!(matches!(
        come(&mut catalog, 1, 60, None, 11),
        Err(RedeemError::Unknown)
    ));
    come(&mut catalog, 2, 61, None, 11).expect("in");
    let again = catalog.add_share(&a_share("s-3", false), &request, &[3; 32]);
    assert!(matches!(again, Err(ShareError::Used)));
    assert!(catalog.grant_of(&[61; 32], 12).expect("reads").is_some());
}

#[test]
fn devices_of_an_older_catalog_stay() {
    let (data, mut catalog) = open();
    catalog.add_owner_link(&[1; 32], 0, 100).expect("kept");
    catalog
        .redeem(&[1; 32], &a_device("a", 1), &[10; 32])
        .expect("in");
    catalog
        .0
        .execute_batch("ALTER TABLE devices DROP COLUMN origin")
        .expect("changes");
    drop(catalog);
    let catalog = Catalog::open(data.path()).expect("opens");
    assert_eq!(catalog.devices().expect("reads")[0].from, "");
}
