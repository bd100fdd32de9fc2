//! The bookkeeping of a ring of stages: which stage is filled next, which is read next, how deep a wait must be and where a barrier is needed.
//!
//! It knows no instruction: an [`Engine`] carries out what it decides.
//! On the device the engine is a few instructions and everything here folds into constants and two counters;
//! in tests the engine records, and the laws of the ring are checked over the very same code.

use crate::law::law;

/// Carries out what the ring decides.
pub trait Engine {
    /// Whether a wait is for everybody's copies of one stage, and shows them to whoever waits; otherwise it is for the waiting thread's own groups, and a barrier publishes them.
    const WAITS_FOR_ALL: bool;

    /// Closes the running group of copies, those into `stage`, also when it is empty.
    fn commit(&mut self, stage: Stage);
    /// Waits until at most `PENDING` of the newest groups are incomplete; the one that ends with this is that of `stage`, in the ring's lap number `lap` modulo 2.
    fn wait<const PENDING: usize>(&mut self, stage: Stage, lap: u32);
    /// Waits for all threads that share the stages, and publishes what each of them wrote or waited for.
    fn barrier(&mut self);
    /// Ends the launch: the caller's order of verbs has no meaning.
    fn misuse(&mut self, misuse: Misuse) -> !;

    /// `value`, in a form that the compiler knows nothing about.
    ///
    /// A loop that counts with it stays a loop, where unrolling would repeat the code for nothing.
    #[inline(always)]
    fn opaque(&mut self, value: u32) -> u32 {
        value
    }
}

/// An order of verbs that no ring can carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// A stage was acquired although all hold tiles that nobody has waited for: the wait would never end.
    Full,
    /// A tile was waited for although none is on its way: the wait would never end.
    Empty,
}

/// A stage of the ring, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage(pub(crate) u32);

/// Positions in a ring of `STAGES` stages.
///
/// One group of copies is committed for each stage filled, so the wait depth is the number of groups that are younger than the one to be read.
#[derive(Debug)]
pub struct Ring<E, const STAGES: usize> {
    engine: E,
    /// The stage that is filled next.
    fill: u32,
    /// The stage that is read next.
    read: u32,
    /// How often the reading has gone around, modulo 2.
    lap: u32,
    /// Groups committed and not yet waited for.
    open: u32,
    /// A stage was acquired and its group is not yet committed.
    filling: bool,
    /// A stage was handed out for reading since the last barrier.
    read_since_barrier: bool,
}

impl<E: Engine, const STAGES: usize> Ring<E, STAGES> {
    const CHECKED: () = law(
        STAGES >= 1 && STAGES <= 8,
        "a ring has 1 to 8 stages: with none there is nowhere to copy to, and more than 8 were never faster",
    );

    /// An empty ring.
    #[inline(always)]
    pub fn new(engine: E) -> Self {
        let () = Self::CHECKED;
        Self {
            engine,
            fill: 0,
            read: 0,
            lap: 0,
            open: 0,
            filling: false,
            read_since_barrier: false,
        }
    }

    /// A ring with all stages but one filled through `refill`, each in a group of its own.
    #[inline(always)]
    pub fn primed(mut engine: E, mut refill: impl FnMut(Stage)) -> Self {
        let ahead = STAGES as u32 - 1;
        if ahead > 0 {
            let mut stage = 0;
            while stage < ahead {
                refill(Stage(stage));
                engine.commit(Stage(stage));
                stage = engine.opaque(stage + 1);
            }
        }
        // The counters are constants again, so that what follows folds.
        Self {
            fill: ahead,
            open: ahead,
            ..Self::new(engine)
        }
    }

    /// The engine.
    #[inline(always)]
    pub fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// The stage to fill next, free for everybody's copies.
    #[inline(always)]
    pub fn acquire(&mut self) -> Stage {
        self.settle();
        if self.open >= STAGES as u32 {
            self.engine.misuse(Misuse::Full);
        }
        // The stage may have been read by other threads since the last barrier.
        // Filling the last free stage counts as such in any case: then a steady loop meets the barrier in its first round as in all others, and the flag folds away.
        if self.read_since_barrier || self.open + 1 == STAGES as u32 {
            self.meet();
        }
        self.filling = true;
        Stage(self.fill)
    }

    /// Closes the group of the stage acquired last.
    #[inline(always)]
    pub fn commit(&mut self) {
        self.engine.commit(Stage(self.fill));
        self.filling = false;
        self.open += 1;
        self.fill = Self::next(self.fill);
    }

    /// The oldest filled stage, once its copies have landed for everybody.
    #[inline(always)]
    pub fn wait(&mut self) -> Stage {
        self.settle();
        self.land();
        if !E::WAITS_FOR_ALL {
            self.meet();
        }
        self.read_since_barrier = true;
        let stage = Stage(self.read);
        self.pass();
        stage
    }

    /// One barrier for both: the stage to fill next, and the oldest filled one, landed.
    ///
    /// The barrier publishes the one and frees the other, which was read before it.
    #[inline(always)]
    pub fn step(&mut self) -> (Stage, Stage) {
        const {
            law(
                STAGES >= 2,
                "one barrier a step needs at least 2 stages: the stage to fill and the stage to read live at the same time",
            )
        };
        let read = self.wait();
        if self.open + 1 >= STAGES as u32 {
            self.engine.misuse(Misuse::Full);
        }
        if E::WAITS_FOR_ALL {
            self.meet();
            self.read_since_barrier = true;
        }
        self.filling = true;
        (Stage(self.fill), read)
    }

    /// Waits until every copy has landed and every thread is done with the stages.
    #[inline(always)]
    pub fn drain(&mut self) {
        self.settle();
        if E::WAITS_FOR_ALL {
            while self.open > 0 {
                self.land();
                self.pass();
            }
        } else {
            self.engine.wait::<0>(Stage(self.read), self.lap);
            self.open = 0;
            self.read = self.fill;
        }
        self.meet();
    }

    /// A slot that was forgotten was filled as far as it was: its group is closed before anything else happens.
    #[inline(always)]
    fn settle(&mut self) {
        if self.filling {
            self.commit();
        }
    }

    /// Waits for the oldest open group; the younger ones may stay open.
    #[inline(always)]
    fn land(&mut self) {
        let (stage, lap) = (Stage(self.read), self.lap);
        if E::WAITS_FOR_ALL {
            if self.open == 0 {
                self.engine.misuse(Misuse::Empty);
            }
            self.engine.wait::<0>(stage, lap);
        } else {
            match self.open {
                1 => self.engine.wait::<0>(stage, lap),
                2 => self.engine.wait::<1>(stage, lap),
                3 => self.engine.wait::<2>(stage, lap),
                4 => self.engine.wait::<3>(stage, lap),
                5 => self.engine.wait::<4>(stage, lap),
                6 => self.engine.wait::<5>(stage, lap),
                7 => self.engine.wait::<6>(stage, lap),
                8 => self.engine.wait::<7>(stage, lap),
                _ => self.engine.misuse(Misuse::Empty),
            }
        }
        self.open -= 1;
    }

    /// Goes on to the next stage to read.
    #[inline(always)]
    fn pass(&mut self) {
        self.read = Self::next(self.read);
        if self.read == 0 {
            self.lap ^= 1;
        }
    }

    #[inline(always)]
    fn meet(&mut self) {
        self.engine.barrier();
        self.read_since_barrier = false;
    }

    #[inline(always)]
    fn next(stage: u32) -> u32 {
        if stage + 1 == STAGES as u32 {
            0
        } else {
            stage + 1
        }
    }
}
