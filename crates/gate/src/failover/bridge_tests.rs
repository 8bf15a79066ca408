use super::*;

#[test]
fn a_bridge_is_named_after_the_inside() {
    assert_eq!(name("lan0"), "tg-lan0");
    assert_eq!(name("enp0s31f6.1234"), "tg-enp0s31f6.12");
    // Cut between letters, and only there.
    assert_eq!(name("abcdefghijkö"), "tg-abcdefghijk");
}
