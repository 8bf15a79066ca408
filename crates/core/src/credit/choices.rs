//! Words by which a file chooses how a link with credit works.

use crate::params::words;

words! {
    /// Unit that is a VC.
    pub enum Per {
        /// A VC for each flow
        Flow = "flow",
        /// One VC for all flows of the link, so that one of them holds the others back
        Link = "link",
    }
}

words! {
    /// Allocation of the receiver's memory to VCs.
    pub enum Allocating {
        /// Once, equally for all VCs
        Static = "static",
        /// Repeatedly, by the sender, in proportion to the cells that each VC sends
        Sender = "sender",
        /// Repeatedly, by the receiver, in proportion to the cells that each VC forwards
        Receiver = "receiver",
    }
}

words! {
    /// Unit that has a pool of its own, which the receiver divides.
    pub enum PoolPer {
        /// Each incoming link
        Link = "link",
        /// Each output port of the receiving node
        Output = "output",
    }
}

words! {
    /// Content of a credit record.
    pub enum Protocol {
        /// The running count of cells that were forwarded (Credit Update Protocol)
        Cup = "cup",
        /// Number of cells forwarded since the previous record
        Incremental = "incremental",
    }
}

words! {
    /// Conduct of a sender.
    pub enum Conduct {
        /// It sends only packets that have credit
        Obeys = "obeys",
        /// It sends as if there was no credit
        Ignores = "ignores",
    }
}
