//! The plan of a connection: a transport's end for each of its two flows.

use crate::source::EndpointFactory;
use crate::source::Traffic;
use std::any::Any;
use std::sync::Arc;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::application::Data;
use tidegate_core::endpoint::{Endpoint, EndpointSetup, TransferPackets, Transport, TransportKind};
use tidegate_core::units::Rate;

/// One end of a connection, made by its transport.
#[derive(Clone, Debug)]
pub struct TransportEnd {
    transport: Arc<dyn Transport + Send + Sync>,
    /// The largest packet of data, in bytes.
    size: u32,
    /// True at the end that sends the data.
    sends: bool,
    /// Data that the application hands over; `None` for data without end.
    data: Option<Data>,
}

impl TransportEnd {
    /// Returns the traffic of a connection with data packets of at most `size` bytes: the flow of
    /// its data, and the flow of the answers. Without an application's data, they are without end.
    ///
    /// # Errors
    /// When the transport lacks a parameter.
    pub fn both(transport: &TransportKind, size: u32, data: Option<Data>) -> Result<[Traffic; 2], Refused> {
        let transport: Arc<dyn Transport + Send + Sync> = transport.build()?.into();
        let end = |sends, data| {
            Traffic::Endpoint(Arc::new(TransportEnd { transport: transport.clone(), size, sends, data }))
        };
        Ok([end(true, data), end(false, None)])
    }
}

impl EndpointFactory for TransportEnd {
    fn make(&self, setup: EndpointSetup) -> Box<dyn Endpoint> {
        if self.sends {
            let data = self.data.clone();
            self.transport.sender(EndpointSetup { data, ..setup }, self.size)
        } else {
            self.transport.receiver(setup, self.size)
        }
    }

    fn packets(&self, bytes: u64) -> Option<TransferPackets> {
        self.transport.packets(bytes, self.size).filter(|_| self.sends)
    }

    fn stage_terms(&self, link: Rate) -> Option<Box<dyn Any>> {
        self.transport.stage_terms(link, self.size).filter(|_| self.sends)
    }
}
