// Package random is the module's one seeded source of randomness.
//
// Everything in noregret that draws at random is handed a [Source] made here from
// a seed and a stream name. The same (seed, stream) gives the same numbers on every
// machine and in every release of noregret: the generator is math/rand/v2's PCG,
// whose output is fixed by Go's compatibility promise, seeded through SplitMix64
// (Steele, Lea and Flood 2014) and 64-bit FNV-1a of the stream's name. Streams with different
// names are independent for all practical purposes, so that adding a draw in one place does
// not change the numbers of another.
//
// Nothing here is secret: do not use it for keys, tokens or privacy noise.
package random

import (
	"hash/fnv"
	"io"
	"math/bits"
	"math/rand/v2"
)

// Source is a seeded generator with the methods of [rand.Rand]. Its state can be saved with
// MarshalBinary and restored with UnmarshalBinary; continuing after a restore is
// bit-identical. A Source is not safe for concurrent use.
type Source struct {
	*rand.Rand
	pcg *rand.PCG
}

// New returns the generator of the given seed for the named stream.
func New(seed uint64, stream string) *Source {
	h := fnv.New64a()
	_, _ = io.WriteString(h, stream) // fnv never fails
	a := SplitMix64(seed ^ h.Sum64())
	hi := a.Uint64()
	lo := a.Uint64()
	pcg := rand.NewPCG(hi, lo)
	return &Source{Rand: rand.New(pcg), pcg: pcg}
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (s *Source) MarshalBinary() ([]byte, error) { return s.pcg.MarshalBinary() }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler].
func (s *Source) UnmarshalBinary(data []byte) error {
	pcg := new(rand.PCG)
	if err := pcg.UnmarshalBinary(data); err != nil {
		return err
	}
	s.pcg, s.Rand = pcg, rand.New(pcg)
	return nil
}

// Permute shuffles p as s.Shuffle does, from the same draws, and faster by the calls that it saves:
// by the algorithm of Fisher and Yates, with indices by Lemire's method (2019).
func Permute[T any](s *Source, p []T) {
	for i := len(p) - 1; i > 0; i-- {
		n := uint64(i + 1)
		j := s.pcg.Uint64()
		if n&(n-1) == 0 {
			j &= n - 1
		} else {
			hi, lo := bits.Mul64(j, n)
			if lo < n {
				for least := -n % n; lo < least; {
					hi, lo = bits.Mul64(s.pcg.Uint64(), n)
				}
			}
			j = hi
		}
		p[i], p[j] = p[j], p[i]
	}
}

// SplitMix64 is the generator of Steele, Lea and Flood (2014): x += 0x9E3779B97F4A7C15, then
// two xor-shift-multiply rounds. Its value is the state x. It implements [rand.Source]
// and serves the synthetic data sets, whose definition names it, and to spread seeds.
type SplitMix64 uint64

// Uint64 implements [rand.Source].
func (s *SplitMix64) Uint64() uint64 {
	*s += 0x9E3779B97F4A7C15
	return Mix(uint64(*s))
}

// Float64 returns the top 53 bits of the next output divided by 2^53, uniform in [0, 1).
func (s *SplitMix64) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Mix is SplitMix64's output function, a bijection of 64-bit words whose
// every input bit reaches every output bit: the hash for pure functions of (seed, number).
func Mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}
