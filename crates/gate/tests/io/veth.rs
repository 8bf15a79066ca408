//! Packet sockets and rings over veth.

macro_rules! over_veth {
    ($($name:ident: $io:literal,)*) => {$(
        mod $name {
            use crate::{TAGGED, start, tcp_passes_whole};

            /// Over veth with its default settings: partial checksums, and super-packets of 64 KB.
            #[test]
            #[ignore = "needs root and network namespaces"]
            fn tcp_passes_whole_over_default_offloads() {
                let (net, gate) = start($io, "400mbit", "");
                let report = tcp_passes_whole(&net, gate);
                for direction in ["up", "down"] {
                    let one = &report["directions"][direction];
                    assert!(one["super_packets"].as_u64().unwrap() > 100, "{one:#}");
                    assert_eq!(one["drops"]["device"], 0, "{one:#}");
                }
            }

            #[test]
            #[ignore = "needs root and network namespaces"]
            fn frames_pass_unchanged() {
                let (net, gate) = start($io, "100mbit", TAGGED);
                crate::frames_pass_unchanged(&net, gate);
            }

            #[test]
            #[ignore = "needs root, network namespaces and ethtool"]
            fn segments_leave_as_they_came() {
                crate::segments_leave_as_they_came($io, true);
                crate::segments_leave_as_they_came($io, false);
            }

            #[test]
            #[ignore = "needs root, network namespaces and TAP devices"]
            fn an_indescribable_frame_does_no_harm() {
                crate::an_indescribable_frame_does_no_harm($io);
            }
        }
    )*};
}

over_veth! {
    packet: "packet",
    ring: "ring",
    ring_batch: "ring-batch",
}
