package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/compensated"
)

// Hash is 64 bits of a keyed hash of a unit: the first 8 bytes, big-endian, of SHA-256 of the
// lengths and the bytes of purpose, salt and unit. Different purposes ("arm", "hold-back", ...)
// give independent draws for one unit. The hash is part of the contract: clients in any language
// compute the same.
func Hash(purpose, salt, unit string) uint64 {
	var fixed [192]byte
	b := fixed[:0]
	for _, s := range []string{purpose, salt, unit} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:8])
}

// Split divides the 2^64 values of [Hash] among arms. The zero Split is not usable; make one with
// [NewSplit]. It is immutable and safe for concurrent use.
type Split struct {
	// upper[k] is the first value above arm k's part; the last arm of positive share reaches to the
	// end, 2^64.
	upper []uint64
	share []uint64 // in 2^-64ths; 2^64 itself is written as math.MaxUint64 with whole set
	last  int
	whole bool // one arm has the whole range
}

// NewSplit makes the split for a distribution: shares at least 0 that sum to 1 within 1e-9. An arm
// of share 0 gets nothing; every other gets its share to within 2^-52, in the order of the arms,
// and the same on every machine.
func NewSplit(shares []float64) (*Split, error) {
	if len(shares) == 0 {
		return nil, noregret.BadInputf("split", "no arms: at least one is required")
	}
	var total compensated.Sum
	last := -1
	for k, p := range shares {
		if !(p >= 0) || p > 1+1e-9 {
			return nil, noregret.BadInputf(fmt.Sprintf("split[%d]", k), "%v: want a share in [0, 1]", p)
		}
		total.Add(p)
		if p > 0 {
			last = k
		}
	}
	if math.Abs(total.Value()-1) > 1e-9 {
		return nil, noregret.BadInputf("split", "the shares sum to %v: want 1 within 1e-9",
			total.Value())
	}
	s := &Split{upper: make([]uint64, len(shares)), share: make([]uint64, len(shares)), last: last}
	var at uint64
	for k, p := range shares {
		begin := at
		switch {
		case k == last:
			at = 0 // 2^64
			s.share[k] = at - begin
			if s.whole = begin == 0; s.whole {
				s.share[k] = math.MaxUint64
			}
		case p > 0:
			// floor(p·2^64), but leave at least one value for the last arm.
			width := Fraction(p)
			if left := -begin; begin != 0 && width >= left {
				width = left - 1
			}
			if begin == 0 && width == math.MaxUint64 {
				width--
			}
			at += width
			s.share[k] = width
		}
		s.upper[k] = at
	}
	return s, nil
}

// Fraction is floor(p·2^64) for p in [0, 1), exactly; 0 for p below 0 and 2^64−1 for p ≥ 1.
func Fraction(p float64) uint64 {
	if !(p > 0) {
		return 0
	}
	if p >= 1 {
		return math.MaxUint64
	}
	return uint64(math.Ldexp(p, 64)) // below 2^64, and exact
}

// Len is the number of arms.
func (s *Split) Len() int { return len(s.upper) }

// Arm is the arm of a hash. O(log K).
func (s *Split) Arm(hash uint64) int {
	if s.whole {
		return s.last
	}
	// The first arm whose part ends above the hash; the last one's ends at 2^64, written as 0.
	k, _ := slices.BinarySearchFunc(s.upper[:s.last], hash, func(upper, h uint64) int {
		if upper <= h {
			return -1
		}
		return 1
	})
	return k
}

// Propensity is the exact probability of an arm under a uniform hash, rounded once to a float64.
func (s *Split) Propensity(arm int) float64 {
	if s.whole {
		if arm == s.last {
			return 1
		}
		return 0
	}
	return math.Ldexp(float64(s.share[arm]), -64)
}

// Shares are the propensities of all arms.
func (s *Split) Shares() []float64 {
	p := make([]float64, s.Len())
	for k := range p {
		p[k] = s.Propensity(k)
	}
	return p
}

// Move is sticky assignment: a unit that had arm under s keeps it under next with probability
// min(1, p'/p), decided by coin, and otherwise draws one of the arms that grew, in proportion to
// their growth, by draw. Arms are then distributed exactly as next says, to within 2^-50, and no
// assignment moves fewer units. The two hashes must be independent of each other and of the hash
// that gave the arm. Both splits must have the same number of arms. Move costs O(K), because it
// prepares both splits anew; a [Policy] prepares them once.
func (s *Split) Move(next *Split, arm int, coin, draw uint64) int {
	m := newMove(s, next)
	if m.keeps(arm, coin) {
		return arm
	}
	return m.to(draw)
}

// move holds what [Split.Move] precomputes for two splits: a unit that stays then costs O(1) and
// one that moves O(log K).
type move struct {
	last  []uint64 // by arm: the last coin with which a unit keeps it, 0 for none
	grown []uint32 // the arms that grew
	upTo  []uint64 // upTo[i] is the growth of grown[:i+1], modulo 2^64
}

func newMove(s, next *Split) move {
	m := move{last: make([]uint64, len(s.share))}
	var at uint64
	for k, want := range next.share {
		have := s.share[k]
		if want > have {
			at += want - have
			m.grown, m.upTo = append(m.grown, uint32(k)), append(m.upTo, at)
		}
		if want >= have {
			m.last[k] = math.MaxUint64
		} else if want > 0 { // coin·have < want·2^64, in integers
			q, r := bits.Div64(want, 0, have)
			if r == 0 {
				q--
			}
			m.last[k] = q // at least 1
		}
	}
	return m
}

// keeps reports whether a unit keeps its arm.
func (m *move) keeps(arm int, coin uint64) bool {
	last := m.last[arm]
	return coin <= last && last != 0
}

// to returns the arm that a unit draws if it does not keep its own. In that case some arm has
// grown.
func (m *move) to(draw uint64) int {
	last := len(m.upTo) - 1
	at := draw
	if total := m.upTo[last]; total != 0 { // 0 means 2^64: all units leave their arms
		at, _ = bits.Mul64(draw, total)
	}
	i, j := 0, last // the first one above at
	for i < j {
		if h := int(uint(i+j) >> 1); m.upTo[h] <= at {
			i = h + 1
		} else {
			j = h
		}
	}
	return int(m.grown[i])
}

// Pad returns the split among more arms. The new arms have no share. It returns s itself if it has
// that many arms.
func (s *Split) Pad(arms int) *Split {
	if arms <= s.Len() {
		return s
	}
	n := &Split{upper: make([]uint64, arms), share: make([]uint64, arms), last: s.last, whole: s.whole}
	copy(n.upper, s.upper)
	copy(n.share, s.share)
	for k := s.Len(); k < arms; k++ {
		n.upper[k] = s.upper[s.last]
	}
	return n
}

// Equal reports whether two splits give the same shares.
func (s *Split) Equal(o *Split) bool { return s.whole == o.whole && slices.Equal(s.share, o.share) }
