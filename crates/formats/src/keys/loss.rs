//! The loss of a link: a probability, or a model.

use crate::record::Shape;
use crate::section::{Key, Scalar, kinds, section};
use crate::values::Read;
use tidegate_core::link;
use tidegate_core::params::Kind;

/// The loss of a link.
#[derive(Clone, Debug)]
pub(crate) enum Loss {
    /// The probability of each packet.
    Independent(f64),
    Model(LossModel),
}

kinds! {
    /// A model of loss.
    pub(crate) enum LossModel = "loss" {
        GilbertElliott,
    }
}

section! {
    /// Loss in bursts: the link is in a good or in a bad state, good at first. A packet is lost with
    /// the probability of the state, which changes after each packet with another probability.
    #[source = "Gilbert 1960; Elliott 1963"]
    pub(crate) struct GilbertElliott = "gilbert-elliott", "Gilbert-Elliott" {
        /// Probability that the good state turns bad after a packet; `p` in netem
        to_bad: f64,
        /// Probability that the bad state turns good after a packet; `r` in netem. A bad state lasts
        /// for the inverse of it on average, in packets
        to_good: f64,
        /// Probability that a packet is lost in the good state; `1-k` in netem
        loss_in_good: f64 = "0",
        /// Probability that a packet is lost in the bad state; `1-h` in netem
        loss_in_bad: f64 = "1",
    }
}

impl Key for Loss {
    fn shape() -> Shape {
        let Shape::OneOf(models) = LossModel::shape() else { unreachable!() };
        Shape::ValueOrOneOf(Kind::Number(0.0, 1.0), models)
    }

    fn of(read: &Read) -> Option<Loss> {
        match read {
            Read::Value(probability) => <f64 as Scalar>::of(probability).map(Loss::Independent),
            model => LossModel::of(model).map(Loss::Model),
        }
    }
}

impl Loss {
    /// Loss as links have it.
    pub(crate) fn of_link(&self) -> Option<link::Loss> {
        match self {
            Loss::Independent(probability) => link::Loss::new(*probability).ok(),
            Loss::Model(LossModel::GilbertElliott(chain)) => {
                let GilbertElliott { to_bad, to_good, loss_in_good, loss_in_bad } = chain;
                let chain = link::GilbertElliott {
                    to_bad: **to_bad,
                    to_good: **to_good,
                    loss_in_good: **loss_in_good,
                    loss_in_bad: **loss_in_bad,
                };
                link::Loss::in_bursts(chain).ok()
            }
        }
    }
}
