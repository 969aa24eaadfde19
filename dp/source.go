package dp

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/noregret/noregret/internal/random"
)

// An Option changes how a mechanism is made. All options are for tests.
type Option func(*options)

type options struct {
	insecure bool
	fast     bool
	seed     uint64
}

// WithInsecureDeterministicNoiseForTesting draws noise from a seed instead of the operating
// system's generator, so that two runs are the same bit by bit. Such noise protects nobody: whoever
// knows the seed subtracts it. Every result, charge and statement of the mechanism says that it is
// insecure, and a production ledger refuses it. Give mechanisms that run side by side different
// seeds.
func WithInsecureDeterministicNoiseForTesting(seed uint64) Option {
	return func(o *options) { o.insecure, o.seed = true, seed }
}

// WithInsecureFastNoiseForTesting is [WithInsecureDeterministicNoiseForTesting] with Gaussian noise
// that is drawn in floating point and rounded to the lattice: several times faster, and not exactly
// discrete Gaussian. It is for simulations that need many runs.
func WithInsecureFastNoiseForTesting(seed uint64) Option {
	return func(o *options) { o.insecure, o.fast, o.seed = true, true, seed }
}

// bufferSize is how many random bytes are read from the operating system at a time.
const bufferSize = 4096

// A source yields uniform 64-bit words: from crypto/rand, or from a seed for tests. It keeps at
// most bufferSize bytes that are not used yet. A copy of the process (a fork or a restored virtual
// machine) would use them again: restart the process after cloning it.
type source struct {
	buffer   [bufferSize]byte
	at       int
	coins    uint64 // unused single bits
	coinsLen int
	shorts   uint64 // unused groups of 16 bits
	shortLen int
	seeded   *random.Source // nil for crypto/rand
	fast     bool           // Gaussian noise is rounded floating-point noise
}

func newSource(opts []Option, stream string) *source {
	var o options
	for _, f := range opts {
		f(&o)
	}
	s := &source{at: bufferSize, fast: o.fast}
	if o.insecure {
		s.seeded = random.New(o.seed, "dp/"+stream)
	}
	return s
}

// insecure reports whether the words come from a seed.
func (s *source) insecure() bool { return s.seeded != nil }

// uint64 returns a uniform word.
func (s *source) uint64() uint64 {
	if s.at == bufferSize {
		s.refill()
	}
	b := s.buffer[s.at : s.at+8 : s.at+8]
	v := binary.LittleEndian.Uint64(b)
	clear(b)
	s.at += 8
	return v
}

func (s *source) refill() {
	s.at = 0
	if s.seeded == nil {
		_, _ = rand.Read(s.buffer[:]) // it ends the process if the system has no randomness
		return
	}
	for i := 0; i < bufferSize; i += 8 {
		binary.LittleEndian.PutUint64(s.buffer[i:], s.seeded.Uint64())
	}
}

// coin returns a fair bit.
func (s *source) coin() bool {
	if s.coinsLen == 0 {
		s.coins, s.coinsLen = s.uint64(), 64
	}
	bit := s.coins&1 == 1
	s.coins >>= 1
	s.coinsLen--
	return bit
}

// short returns 16 uniform bits.
func (s *source) short() uint32 {
	if s.shortLen == 0 {
		s.shorts, s.shortLen = s.uint64(), 4
	}
	v := uint32(s.shorts & 0xffff)
	s.shorts >>= 16
	s.shortLen--
	return v
}

// wipe erases what is buffered.
func (s *source) wipe() {
	clear(s.buffer[:])
	s.at, s.coins, s.coinsLen, s.shorts, s.shortLen = bufferSize, 0, 0, 0, 0
}
