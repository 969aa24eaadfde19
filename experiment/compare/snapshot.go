package compare

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// version is that of the layout of snapshots.
const version = 4

// AppendBinary appends a snapshot to b: the version, the numbers of arms and metrics, whether all
// pairs are compared, whether there is no control, the rounds of a fixed memory, then by metric
// whether it is a ratio, its rounds, its base, whether it has factors and its numbers. Whole
// numbers are 64 bits, little-endian; others are float64s in the same order.
func (s *Store) AppendBinary(b []byte) []byte {
	whole := func(n int) { b = binary.LittleEndian.AppendUint64(b, uint64(n)) }
	numbers := func(list []float64) {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	whole(version)
	whole(s.arms)
	whole(len(s.metrics))
	whole(truth(s.pairs))
	whole(truth(s.free))
	whole(s.fixed)
	for i := range s.metrics {
		m := &s.metrics[i]
		whole(m.shape.parts)
		whole(m.rounds)
		whole(m.base)
		whole(truth(m.factors != nil))
		numbers(m.factors)
		numbers([]float64{m.sigma, m.width})
		v := &m.variance
		for _, list := range [][]float64{v.free, v.xx, v.xy, v.yy} {
			numbers(list)
		}
		for j := range m.memories {
			numbers(m.memories[j].v)
		}
	}
	return b
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// MarshalBinary implements [encoding.BinaryMarshaler]; see [Store.AppendBinary].
func (s *Store) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil), nil }

// MarshalText implements [encoding.TextMarshaler]: the snapshot in base64.
func (s *Store) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, s.AppendBinary(nil)), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]; see [Store.UnmarshalBinary].
func (s *Store) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return damaged("%w", err)
	}
	return s.UnmarshalBinary(b)
}

// mostArms and mostMetrics bound what a snapshot may ask for.
const mostArms, mostMetrics = 1 << 16, 1 << 12

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. It accepts what AppendBinary writes and
// nothing else: another version, other lengths, numbers that are not finite and sums that cannot be
// below 0 but are are errors of code bad_input, which leave s as it was.
func (s *Store) UnmarshalBinary(b []byte) error {
	r := reader{b: b}
	if v := r.whole(); v != version {
		return damaged("version %d: want %d", v, version)
	}
	arms, metrics, pairs, free, fixed := r.whole(), r.whole(), r.whole(), r.whole(), r.whole()
	if r.short || arms < 1 || arms > mostArms || metrics < 1 || metrics > mostMetrics || pairs > 1 || free > 1 ||
		fixed > MostFixed || fixed > 0 && fixed < LeastFixed {
		return damaged("%d arms, %d metrics, a memory of %d rounds", arms, metrics, fixed)
	}
	n := Store{arms: int(arms), pairs: pairs == 1, free: free == 1, fixed: int(fixed), metrics: make([]metric, metrics)}
	keeps := make([]float64, 0, Memories+1)
	for _, length := range lengths {
		keeps = append(keeps, keepOf(length))
	}
	if fixed > 0 {
		keeps = append(keeps, keepOf(float64(fixed)))
	}
	for i := range n.metrics {
		m := &n.metrics[i]
		parts, rounds, base, factors := r.whole(), r.whole(), r.whole(), r.whole()
		if r.short || parts < 1 || parts > 2 || rounds > math.MaxInt32 || base >= arms || factors > 1 {
			return damaged("metric %d has %d parts, %d rounds and the base %d", i, parts, rounds, base)
		}
		m.shape, m.rounds, m.base = shape{pairs: n.pairs, parts: int(parts)}, int(rounds), int(base)
		if need := m.numbers(n.arms, len(keeps)) + int(factors)*n.arms; len(r.b) < 8*need {
			return damaged("%d bytes for the %d numbers of metric %d", len(r.b), need, i)
		}
		if factors == 1 {
			m.factors = r.numbers(n.arms)
		}
		head := r.numbers(2)
		m.sigma, m.width = head[0], head[1]
		v := &m.variance
		v.together = n.free
		v.free, v.xx, v.xy, v.yy = r.numbers(n.arms), r.numbers(n.arms), r.numbers(n.arms), r.numbers(n.arms)
		for _, keep := range keeps {
			m.memories = append(m.memories, memory{keep: keep, v: r.numbers(m.shape.arm(n.arms))})
		}
		if err := m.check(i, n.arms); err != nil {
			return err
		}
	}
	if len(r.b) > 0 {
		return damaged("%d bytes after the end", len(r.b))
	}
	*s = n
	return nil
}

// numbers is how many float64s the snapshot of a metric has, without factors.
func (m *metric) numbers(arms, memories int) int { return 2 + 4*arms + memories*m.shape.arm(arms) }

// check returns an error for numbers that no rounds can lead to.
func (m *metric) check(i, arms int) error {
	positive := func(what string, list ...float64) error {
		for _, v := range list {
			if !(v >= 0) || math.IsInf(v, 1) {
				return damaged("metric %d: %s is %v", i, what, v)
			}
		}
		return nil
	}
	v := &m.variance
	for _, list := range [][]float64{{m.sigma, m.width}, v.free, v.xx, v.yy} {
		if err := positive("a variance", list...); err != nil {
			return err
		}
	}
	for k, f := range m.factors {
		if !(f > 0 && f <= math.MaxFloat64) {
			return damaged("metric %d: factor %d is %v", i, k, f)
		}
	}
	for _, x := range v.xy {
		if !vec.IsFinite(x) {
			return damaged("metric %d: a product is %v", i, x)
		}
	}
	s := m.shape
	for j := range m.memories {
		x := m.memories[j].v
		for _, number := range x {
			if !vec.IsFinite(number) {
				return damaged("metric %d: a sum is %v", i, number)
			}
		}
		last := s.products() - 1
		if err := positive("a scatter", x[atF], x[atNN], x[atSS], x[atS], x[atS+last], x[atS+s.products()],
			x[atS+s.products()+last]); err != nil {
			return err
		}
		for k := range arms {
			row := x[s.row(k):s.arm(k+1)]
			if err := positive("a weight", append([]float64{x[s.arm(k)]}, row...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func damaged(format string, args ...any) error {
	return noregret.BadInputf("store", "damaged: "+format, args...)
}

// reader reads numbers until there are no more bytes.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) whole() uint64 {
	if len(r.b) < 8 {
		r.b, r.short = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) numbers(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = math.Float64frombits(r.whole())
	}
	return list
}
