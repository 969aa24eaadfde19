package dp

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
)

// secrets is what a mechanism keeps: exact sums and noise, or whatever determines them.
type secrets struct {
	Sum, Finished []int64
	Slots         [][]int64
	Estimates     [][]float64
}

func (s *secrets) wipe() {
	clear(s.Sum)
	clear(s.Finished)
	for _, slot := range s.Slots {
		clear(slot)
	}
	for _, e := range s.Estimates {
		clear(e)
	}
}

// streamState is the state of a stream between two steps.
type streamState struct {
	Steps   int64
	Pending int
	Sum     []int64
	Secrets secrets
}

const streamMagic = "noregret-private-stream-2\n"

// identity is the kind of a stream's snapshot: everything that must agree for the noise of the
// state to be the noise of the stream.
func (s *Stream) identity() string {
	l := s.config.Lattice
	sums := ""
	if s.config.Sums {
		sums = " sums"
	}
	return fmt.Sprintf("%s dim=%d horizon=%d batch=%d clip=%x spacing=%x sigma=%x insecure=%t (%s)%s", s.config.Kind,
		l.Dim(), l.Horizon(), s.config.Batch, l.Clip(), l.Spacing(), s.mech.deviation(1), s.random.insecure(),
		s.charge.Protection, sums)
}

// MarshalBinary returns the state of the stream. It is SECRET: it holds the exact sums and the
// noise, and who has it together with the releases has the data. Encrypt it, keep it out of logs,
// and delete it when the stream is closed.
//
// Write the state of a step durably before the release of that step leaves the process, and restore
// only the newest state: a step that is made again from an older state draws other noise for the
// same sum, which costs the privacy of a second release. If that may have happened, close the run
// and start a new one with a new charge.
func (s *Stream) MarshalBinary() ([]byte, error) {
	if s.closed {
		return nil, noregret.BadInputf("stream", "%w", ErrClosed)
	}
	return snapshot.Seal(streamMagic, s.identity(), &streamState{
		Steps: s.t, Pending: s.pending, Sum: s.sum, Secrets: *s.mech.secrets(),
	})
}

// UnmarshalBinary restores a state into a stream made with the same configuration. On error the
// stream is unchanged.
func (s *Stream) UnmarshalBinary(data []byte) error {
	if s.closed {
		return noregret.BadInputf("stream", "%w", ErrClosed)
	}
	var state streamState
	if err := snapshot.Open(data, streamMagic, s.identity(), &state); err != nil {
		return err
	}
	if state.Steps < 0 || state.Steps > s.config.steps() || state.Pending < 0 || state.Pending > s.config.Batch ||
		len(state.Sum) != len(s.sum) || !s.mech.restore(state.Steps, &state.Secrets) {
		return snapshot.Bad("the sizes of the state do not fit")
	}
	s.t, s.pending, s.sum = state.Steps, state.Pending, state.Sum
	s.random.wipe()
	if s.random.seeded != nil { // a seeded stream continues with other noise than it began with
		s.random.seeded = random.New(s.random.seeded.Uint64(), fmt.Sprintf("dp/restored/%d", state.Steps))
	}
	return nil
}
