//! Policies of tests, declared as a crate outside declares them: without parameters, and with a
//! record from which nobody needs more than the role.

/// Declares the parameters of a policy that has none and is made by `Default`.
macro_rules! toy {
    ($params:ident makes $policy:ty: $name:literal, $role:expr) => {
        tidegate_core::params::parameters! {
            /// There are none.
            #[derive(Copy)]
            pub struct $params {}
        }

        impl tidegate_core::params::PolicyParams for $params {
            type Policy = $policy;

            const RECORD: tidegate_core::params::PolicyRecord = tidegate_core::params::PolicyRecord {
                name: $name,
                title: $name,
                role: $role,
                help: "A policy of a test",
                source: "its file",
                params: <$params as tidegate_core::params::Parameters>::PARAMS,
                reads: &[],
                stamps: tidegate_core::params::Stamps::Unordered,
                divides: false,
                reads_queues: false,
                needs: None,
                carries: tidegate_core::params::Carry::Nothing,
            };

            fn make(&self) -> Result<$policy, tidegate_core::contract::Refused> {
                Ok(<$policy>::default())
            }

            fn example() -> $params {
                $params {}
            }
        }
    };
}

pub(crate) use toy;
