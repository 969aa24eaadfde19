package oco

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/snapshot"
)

// digest is short text that differs between vectors: part of the kind of a snapshot.
func digest(v []float64) string {
	if len(v) <= 4 {
		return fmt.Sprint(v)
	}
	h := sha256.New()
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	_, _ = h.Write(b) // never fails
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// checkState returns an error for a restored state whose vectors do not have d finite values.
func checkState(d, rounds int, vectors ...[]float64) error {
	if rounds < 0 {
		return snapshot.Bad("damaged: %d rounds", rounds)
	}
	for _, v := range vectors {
		if !allFinite(v, d) {
			return snapshot.Bad("damaged: a vector has %d values for dimension %d, or is not finite", len(v), d)
		}
	}
	return nil
}

// restore decodes a snapshot of a learner of the given kind into state if check accepts it.
// Otherwise nothing changes.
func restore[S any](data []byte, kind string, state *S, check func(s *S) error) error {
	var s S
	if err := snapshot.Open(data, snapshotMagic, kind, &s); err != nil {
		return err
	}
	if err := check(&s); err != nil {
		return err
	}
	*state = s
	return nil
}
