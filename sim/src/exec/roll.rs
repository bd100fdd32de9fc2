//! Who arrived on an mbarrier and how many bytes it was told of, kept for the report of a deadlock alone.

/// Lanes of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seats {
    /// Rank of the block in its group.
    pub(crate) rank: u16,
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
}

/// Adds lanes to a list that has each warp once.
pub(crate) fn join(list: &mut Vec<Seats>, new: Seats) {
    let same = |seats: &&mut Seats| (seats.rank, seats.warp) == (new.rank, new.warp);
    match list.iter_mut().rev().find(same) {
        Some(seats) => seats.lanes |= new.lanes,
        None => list.push(new),
    }
}

/// What one object has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roll {
    /// Who arrived in the phase that is not complete.
    came: Vec<Seats>,
    /// Who arrived in any phase before.
    earlier: Vec<Seats>,
    /// Bytes announced in this phase.
    pub(crate) announced: u64,
    /// Bytes delivered in it.
    pub(crate) delivered: u64,
}

impl Roll {
    /// A lane arrives.
    pub(crate) fn arrive(&mut self, rank: u16, warp: u32, lane: usize) {
        let lanes = 1 << lane;
        join(&mut self.came, Seats { rank, warp, lanes });
    }

    /// Bytes to wait for, or with a minus bytes that came.
    pub(crate) fn count(&mut self, bytes: i64) {
        if bytes > 0 {
            self.announced += bytes.unsigned_abs();
        } else {
            self.delivered += bytes.unsigned_abs();
        }
    }

    /// The phase is complete.
    pub(crate) fn turn(&mut self) {
        for seats in self.came.drain(..) {
            join(&mut self.earlier, seats);
        }
        (self.announced, self.delivered) = (0, 0);
    }

    /// Who arrived in this phase.
    pub(crate) fn came(&self) -> &[Seats] {
        &self.came
    }

    /// Who arrived in an earlier phase and not in this one.
    pub(crate) fn absent(&self) -> Vec<Seats> {
        let without = |seats: &Seats| {
            let here = self
                .came
                .iter()
                .find(|came| (came.rank, came.warp) == (seats.rank, seats.warp));
            Seats {
                lanes: seats.lanes & !here.map_or(0, |here| here.lanes),
                ..*seats
            }
        };
        let all = self.earlier.iter().map(without);
        all.filter(|seats| seats.lanes != 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_before_and_not_now_is_absent() {
        let mut roll = Roll::default();
        for lane in 0..3 {
            roll.arrive(0, 1, lane);
        }
        roll.arrive(1, 0, 5);
        roll.count(512);
        roll.count(-128);
        assert_eq!((roll.announced, roll.delivered), (512, 128));
        assert_eq!((roll.came().len(), roll.absent().len()), (2, 0));
        roll.turn();
        roll.arrive(0, 1, 1);
        let lanes: Vec<_> = roll
            .absent()
            .iter()
            .map(|seats| (seats.rank, seats.warp, seats.lanes))
            .collect();
        assert_eq!(lanes, [(0, 1, 0b101), (1, 0, 1 << 5)]);
        assert_eq!((roll.announced, roll.delivered), (0, 0));
    }
}
