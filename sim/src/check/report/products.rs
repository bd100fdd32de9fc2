//! The words for asynchronous products, where those for copies do not fit.

use crate::event::CopyKind;
use crate::finding::Class;

use super::super::hazard::{Deed, Fact};
use super::Words;

/// Whether a party issues a product.
fn multiplies(deed: Deed) -> bool {
    matches!(
        deed,
        Deed::Multiply | Deed::CopyFrom(CopyKind::Product) | Deed::CopyInto(CopyKind::Product)
    )
}

impl Words<'_> {
    /// Whether the earlier party is a product, for which the other did not wait.
    pub(super) fn first_is_product(&self) -> bool {
        self.hazard
            .first
            .is_some_and(|first| multiplies(first.deed))
    }

    /// Whether the later party is a product.
    pub(super) fn second_is_product(&self) -> bool {
        multiplies(self.hazard.second.deed)
    }

    /// The headline of a hazard that a product makes special.
    pub(super) fn product_headline(&self, bytes: &str) -> Option<String> {
        let hazard = self.hazard;
        if hazard.class == Class::MissingProductFence {
            return Some(match hazard.first.map(|first| first.deed) {
                None => "the product (1) is the first of its warp, and no `wgmma.fence` came before it".to_owned(),
                Some(Deed::WriteRegister) => {
                    "the product (2) uses registers that (1) writes, without `wgmma.fence` between the two".to_owned()
                }
                Some(Deed::ReadRegister) => {
                    "the product (2) uses registers that (1) reads, without `wgmma.fence` between the two".to_owned()
                }
                Some(_) => {
                    "the product (2) uses the accumulators of (1), a product of another shape, without `wgmma.fence` between the two".to_owned()
                }
            });
        }
        if !self.first_is_product() {
            return None;
        }
        Some(match (hazard.class, hazard.second.deed) {
            (Class::WaitCount, Deed::ReadRegister) => {
                "accumulators of the product (1) read by (2) while it is in a group that the wait leaves open".to_owned()
            }
            (Class::UncommittedCopy, Deed::ReadRegister) => {
                "accumulators of the product (1) read by (2), but the product was in no group when its warp waited".to_owned()
            }
            (_, Deed::ReadRegister) => {
                "accumulators of the product (1) read by (2) before it is complete".to_owned()
            }
            (Class::SourceModified, Deed::WriteRegister) => {
                "registers with the left factor of the product (1) written by (2) before it is complete".to_owned()
            }
            (_, Deed::WriteRegister) => {
                "accumulators of the product (1) written by (2) before it is complete".to_owned()
            }
            (Class::OverwriteInUse, _) => {
                format!("{bytes} overwritten by the copy (2) while the product (1) may still be reading them")
            }
            (Class::SourceModified, _) => {
                format!("{bytes} written by (2) while the product (1) may still be reading them")
            }
            (Class::OutstandingAtExit, _) => {
                "the thread (2) ends while its product (1) is not known to be complete".to_owned()
            }
            _ => return None,
        })
    }

    /// Who waits for the earlier party, what it is, and several of it.
    pub(super) fn awaited(&self) -> [&'static str; 3] {
        if self.first_is_product() {
            ["the product's warp", "product", "products"]
        } else {
            ["the copying thread", "copy", "copies"]
        }
    }

    /// The remedy of a hazard that a product makes special.
    pub(super) fn product_remedy(&self) -> Option<String> {
        let hazard = self.hazard;
        if hazard.class == Class::MissingProductFence {
            return Some(if hazard.first.is_some() {
                "put `wgmma.fence.sync.aligned` between the last access to the registers and the first product that uses them".to_owned()
            } else {
                "put `wgmma.fence.sync.aligned` before the first product".to_owned()
            });
        }
        if !self.first_is_product() {
            return None;
        }
        let needed = hazard.facts.iter().find_map(|fact| match fact {
            Fact::LeftOpen { needed, .. } => Some(*needed),
            _ => None,
        });
        let wait = match needed {
            Some(_) if self.uncommitted() => "commit before the wait, not behind it".to_owned(),
            Some(needed) => format!("lower the wait to `wgmma.wait_group {needed}`"),
            None if hazard.facts.iter().any(|fact| matches!(fact, Fact::Uncommitted { .. })) => {
                "put `wgmma.commit_group` before the wait that is to cover the product".to_owned()
            }
            None if hazard.facts.iter().any(|fact| matches!(fact, Fact::Unpublished { .. })) => {
                "keep the wait".to_owned()
            }
            None => "put `wgmma.wait_group 0`, or the largest count that still covers the group, on the product's warps".to_owned(),
        };
        let before = match (hazard.class, hazard.second.deed) {
            (_, Deed::ReadRegister | Deed::WriteRegister) if needed.is_some() => String::new(),
            (_, Deed::ReadRegister | Deed::WriteRegister) => {
                ", before its registers are used".to_owned()
            }
            (Class::OverwriteInUse, _) => {
                ", with a barrier, or an arrival on the stage's empty mbarrier, between it and the copy".to_owned()
            }
            (Class::SourceModified, _) => ", with a barrier between it and the store".to_owned(),
            (Class::OutstandingAtExit, _) => ", before the thread ends".to_owned(),
            _ => return None,
        };
        Some(wait + &before)
    }
}
