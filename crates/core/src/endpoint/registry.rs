//! The registry of built-in transports.

use super::transport::Transport;
use crate::contract::Refused;
use crate::params::{PolicyKind, PolicyParams, registry};
use alloc::boxed::Box;

/// The recipe for a transport, as a plan holds it.
pub type TransportKind = PolicyKind<BuiltInTransport, dyn Transport + Send + Sync>;

macro_rules! transports {
    ($($(#[$only:meta])* $variant:ident($params:path),)+) => {
        registry! {
            /// A built-in transport with its parameters.
            pub enum BuiltInTransport {
                $($(#[$only])* $variant($params),)+
            }
        }

        impl TransportKind {
            /// A transport written outside this crate. A plan needs no more; for a name in files,
            /// see [`policies`](crate::policies).
            pub fn outside<T>(params: T) -> TransportKind
            where
                T: PolicyParams<Policy: Transport + Send + Sync + 'static>,
            {
                PolicyKind::declared(params, |transport| Box::new(transport))
            }

            /// Makes a new transport of this kind.
            ///
            /// # Errors
            /// When a parameter that depends on the link is missing.
            pub fn build(&self) -> Result<Box<dyn Transport + Send + Sync>, Refused> {
                let built_in = |transport: &BuiltInTransport| match transport {
                    $($(#[$only])* BuiltInTransport::$variant(params) => {
                        params.make().map(|made| Box::new(made) as Box<dyn Transport + Send + Sync>)
                    })+
                };
                self.make_with(built_in, |transport| transport)
            }
        }
    };
}

// The registry: one line per transport.
transports! {
    #[cfg(feature = "atm")]
    Abr(super::abr::AbrParams),
    #[cfg(feature = "tcp")]
    Tcp(super::tcp::TcpParams),
    Window(super::window::WindowParams),
}
