/// x
pub fn python_types() -> String {
    String::new()
}
