//! May this packet go yet?
use crate::params::{Kind, Param, PolicyRecord, Role};

/// What a person can know about the token bucket.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "token-bucket",
    title: "Token bucket (user-behaviour envelope)",
    role: Role::Shaper,
    help: "Delays a flow's packets until they conform to a bucket of `burst` refilled at `rate`; \
           packets beyond `queue` waiting are discarded.",
    source: "Zhang 1991, section 3.3 (envelope: burst = AR × AI)",
    params: &[
        Param {
            name: "rate",
            kind: Kind::Rate,
            default: None,
            required: true,
            help: "Rate at which the bucket refills",
        },
        Param {
            name: "burst",
            kind: Kind::Size,
            default: None,
            required: true,
            help: "Depth of the bucket: what may leave back to back; at least the largest packet",
        },
        Param {
            name: "queue",
            kind: Kind::Limit,
            default: None,
            required: false,
            help: "Longest queue of waiting packets; without it nothing is discarded",
        },
    ],
    reads: &[],
};

/// Every built-in shaper's record.
pub const RECORDS: &[PolicyRecord] = &[RECORD];
