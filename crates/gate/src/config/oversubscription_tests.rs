use super::*;
use std::path::Path;

#[test]
fn the_example_is_summed_up() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gates/isp.toml");
    let file = GateFile::load(&path, &[]).unwrap();
    let expected = "\
subscribers: 22 circuits in 3 classes
  north            up   10 circuits: 14500kbit of 60mbit reserved, ceilings add up to 145mbit of 100mbit
  north            down 10 circuits: 58mbit of 300mbit reserved, ceilings add up to 720mbit of 500mbit
  south            up   7 circuits: 10mbit of 60mbit reserved, ceilings add up to 100mbit of 100mbit
  south            down 7 circuits: 40mbit of 300mbit reserved, ceilings add up to 500mbit of 500mbit
  valley           up   5 circuits: 2500kbit of 15mbit reserved, ceilings add up to 25mbit of 20mbit
  valley           down 5 circuits: 10mbit of 60mbit reserved, ceilings add up to 125mbit of 80mbit
";
    assert_eq!(summary(&file), expected);
}
