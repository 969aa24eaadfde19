package aggregate

import (
	"fmt"

	"github.com/noregret/noregret/internal/snapshot"
)

const magic = "noregret-private-sums-2\n"

// identity is everything that the numbers of a snapshot mean.
func (s *Sums) identity() string {
	c := s.config
	text := fmt.Sprintf("sums arms=%d contribution=%d rounds=%d batch=%d epsilon=%x delta=%x limit=%d", c.Arms,
		c.Contribution, c.Rounds, c.Batch, c.Epsilon, c.Delta, s.limit)
	for _, r := range c.Metrics {
		text += fmt.Sprintf(" [%x,%x]", r.Low, r.High)
	}
	return text
}

// sumsState is the state of Sums: that of its stream.
type sumsState struct{ Stream []byte }

// MarshalBinary returns the state. It is SECRET, as it holds exact sums and noise: see
// [dp.Stream.MarshalBinary], also for when it must be written. It has about 16 bytes for every
// released number with dp.SquareRoot, and less than 2 KiB for every arm and metric with the others.
func (s *Sums) MarshalBinary() ([]byte, error) {
	stream, err := s.stream.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(magic, s.identity(), &sumsState{stream})
}

// UnmarshalBinary restores a state into sums of the same configuration. On error the sums are
// unchanged.
func (s *Sums) UnmarshalBinary(data []byte) error {
	var state sumsState
	if err := snapshot.Open(data, magic, s.identity(), &state); err != nil {
		return err
	}
	return s.stream.UnmarshalBinary(state.Stream)
}
