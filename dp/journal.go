package dp

import (
	"bytes"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// A Checkpoint is what a run must keep of its last step: the secret state, to go on with, and the
// release, to give out again.
type Checkpoint struct {
	Steps          int64
	State, Release []byte
}

// A Journal keeps the newest checkpoint of a run durably. A step of a private mechanism that is
// made twice draws two noises for one sum, and the difference of the two releases helps an attacker
// as a second release does. So a run follows this order:
//
//  1. Reserve the charge in the [Ledger], before the first step.
//  2. Make the step in memory.
//  3. Write the checkpoint to the journal.
//  4. Commit the step in the ledger.
//  5. Give the release out.
//
// After a crash, restore the state of [Journal.Last], take the run over with [Ledger.Resume],
// commit the step again, and give out the same release again; never compute it anew. A crash before
// step 3 loses the step, of which nothing was released.
//
// A checkpoint is secret: see [Stream.MarshalBinary]. The store holds one document per epoch, of
// which [FileStore] keeps several; delete them when the run is closed. A Journal is not safe for
// concurrent use, but two processes cannot both write: the slower one gets ErrEpoch and must stop.
type Journal struct {
	store Store
	run   string
	epoch uint64
	last  Checkpoint
	any   bool
}

const journalMagic = "noregret-private-journal-2\n"

// OpenJournal opens the journal of a store, which may be empty. The name of the run guards against
// opening the journal of another one.
func OpenJournal(store Store, run string) (*Journal, error) {
	raw, epoch, err := store.Load()
	if err != nil {
		return nil, err
	}
	j := &Journal{store: store, run: run, epoch: epoch}
	if epoch > 0 {
		if err := snapshot.Open(raw, journalMagic, run, &j.last); err != nil {
			return nil, err
		}
		j.any = true
	}
	return j, nil
}

// Last returns the newest checkpoint, and false if there is none yet.
func (j *Journal) Last() (Checkpoint, bool) { return j.last, j.any }

// Write makes c durable. The errors are ErrHorizon for a step that is not later than the last one,
// unless it is the same checkpoint again, and ErrEpoch if another process has written.
func (j *Journal) Write(c Checkpoint) error {
	if j.any && c.Steps <= j.last.Steps {
		if c.Steps == j.last.Steps && bytes.Equal(c.State, j.last.State) && bytes.Equal(c.Release, j.last.Release) {
			return nil
		}
		return noregret.BadInputf("journal", "step %d after step %d: %w", c.Steps, j.last.Steps, ErrHorizon)
	}
	raw, err := snapshot.Seal(journalMagic, j.run, &c)
	if err != nil {
		return err
	}
	if err := j.store.CompareAndSwap(j.epoch, raw); err != nil {
		return err
	}
	j.epoch++
	j.last = Checkpoint{Steps: c.Steps, State: bytes.Clone(c.State), Release: bytes.Clone(c.Release)}
	j.any = true
	return nil
}
