//! The part of a gate's traffic that a name stands for.

use super::GateFile;
use crate::suggest::{brief, did_you_mean};
use std::net::IpAddr;

/// A part of a gate's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The flow at this place in the file.
    Flow(usize),
    /// The class at this place in the file.
    Class(usize),
    /// The circuit with this number in the list of a flow.
    Circuit(usize, u32),
    /// A host inside.
    Host(IpAddr),
}

impl GateFile {
    /// Finds the flow, the class or the circuit with a name, or the host with an address.
    ///
    /// # Errors
    /// The message, when nothing has this name.
    pub fn named(&self, name: &str) -> Result<Named, String> {
        let flow = self.flows.iter().position(|flow| flow.name == name).map(Named::Flow);
        let class = || self.classes.iter().position(|class| class.class.name == name).map(Named::Class);
        let circuit = || {
            self.flows.iter().enumerate().find_map(|(flow, one)| {
                let circuits = one.circuits.as_ref()?;
                let number = (0..circuits.len() as u32).find(|circuit| circuits.name(*circuit) == name)?;
                Some(Named::Circuit(flow, number))
            })
        };
        let host = || name.parse().ok().map(Named::Host);
        flow.or_else(class).or_else(circuit).or_else(host).ok_or_else(|| {
            let classes = self.classes.iter().map(|class| class.class.name.as_str());
            let circuits = self.flows.iter().filter_map(|flow| flow.circuits.as_ref());
            let circuits = circuits.flat_map(|list| (0..list.len() as u32).map(|circuit| list.name(circuit)));
            let flows = self.flows.iter().map(|flow| flow.name.as_str());
            let help = did_you_mean(name, flows.chain(classes).chain(circuits));
            let help = help.map_or_else(String::new, |help| format!("\n  help: {help}"));
            format!("no flow, class or circuit is called `{}`, and it is no address{help}", brief(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_found() {
        let text = "version = 1\n[gate]\ninside = \"a\"\noutside = \"b\"\nup = \"10mbit\"\ndown = \"10mbit\"\n\
                    [[class]]\nname = \"site\"\n[[flow]]\nname = \"calls\"\nclass = \"site\"\nmatch = { dscp = \"ef\" }\n";
        let file = GateFile::parse(text, "gate.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(file.named("calls"), Ok(Named::Flow(0)));
        assert_eq!(file.named("site"), Ok(Named::Class(0)));
        assert_eq!(file.named("10.0.0.7"), Ok(Named::Host("10.0.0.7".parse().unwrap())));
        let missing = file.named("cals").unwrap_err();
        assert_eq!(
            missing,
            "no flow, class or circuit is called `cals`, and it is no address\n  help: did you mean `calls`?"
        );
    }
}
