package policy

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// The kinds of contextual policies, see [Linear].
const (
	LinUCB      = "lin-ucb"
	LinThompson = "lin-thompson"
	SquareCB    = "squarecb"
)

// LinearKinds are the kinds of contextual policies.
func LinearKinds() []string { return []string{LinUCB, LinThompson, SquareCB} }

// MaxAlpha is the greatest multiple of the widths.
const MaxAlpha = 1e40

// MaxNumbers is the greatest number of factors' entries in one policy, so that its JSON form stays
// below its greatest size.
const MaxNumbers = 1 << 22

// Linear is a contextual policy: a pure function of a vector x, which an [Encoder] makes of the
// unit's context. Each arm k has the score s_k = ⟨x, m_k⟩, its estimated reward, and for lin-ucb
// and lin-thompson the width w_k = √(xᵀA_k⁻¹x) = ‖F_kᵀx‖, the standard error of the score in units
// of the noise. The kinds are
//
//   - lin-ucb: the arms of the greatest s_k + Alpha·w_k, in equal shares (Li, Chu, Langford and
//     Schapire 2010);
//   - lin-thompson: each arm with the probability that it is the best if the scores are independent
//     normal variables of means s_k and standard deviations Alpha·w_k (Agrawal and Goyal 2013 with
//     one model for each arm), by the fixed quadrature that [Linear.Distribution] describes;
//   - squarecb: inverse gap weighting (Abe and Long 1999; Foster and Rakhlin 2020). Let b be the
//     first arm of the greatest score and n the number of arms that are not retired. Each other
//     arm has the probability 1/(n + Gamma·(s_b − s_k)), and b the rest.
//
// The share Floor is then spread evenly: p_k ← (1 − Floor)·p_k + Floor/n. Retired arms have no
// share.
//
// Call Prepare first; [Policy.Prepare] does so. A Linear is then immutable, safe for concurrent use
// and gives the same bits on every machine.
type Linear struct {
	// Kind is one of [LinearKinds].
	Kind string `json:"kind" enum:"lin-ucb,lin-thompson,squarecb"`
	// Features are the declarations of the encoder.
	Features []Feature `json:"features"`
	// Alpha is the multiple of the widths, in [0, MaxAlpha].
	Alpha float64 `json:"alpha"`
	// Gamma is the rate of the inverse gaps, in [0, 1e100].
	Gamma float64 `json:"gamma"`
	// Floor is the share that is spread evenly, in [0, 1].
	Floor float64     `json:"floor"`
	Arms  []LinearArm `json:"arms"`

	encoder *Encoder
	allowed []bool // the arms that are not retired
}

// LinearArm is the model of one arm.
type LinearArm struct {
	// Mean holds the weights m, one for each coordinate.
	Mean []float64 `json:"mean"`
	// Factor is the upper triangle of F with FFᵀ = A⁻¹, row by row: Dim·(Dim+1)/2 numbers. Empty
	// for squarecb.
	Factor Packed `json:"factor,omitempty"`
	// Retired arms are never drawn. Their mean and factor may be empty.
	Retired bool `json:"retired,omitempty"`
}

// Packed is a list of numbers whose text form is the base64 (RFC 4648) of their IEEE 754 double
// precision bytes, little-endian.
type Packed []float64

// MarshalText implements [encoding.TextMarshaler].
func (p Packed) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(p))
	for _, v := range p {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Packed) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return noregret.BadInputf("", "want the base64 of numbers of 8 bytes")
	}
	list := make(Packed, len(raw)/8)
	for i := range list {
		list[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	*p = list
	return nil
}

// Triangle is the number of entries of the upper triangle of a dim×dim matrix.
func Triangle(dim int) int { return dim * (dim + 1) / 2 }

// Prepare computes what Distribution needs. It returns an error of code bad_input if a field is out
// of its range, the number of models is not that of the arms, a model does not fit the encoder, or
// all arms are retired. It changes nothing if l is prepared already.
func (l *Linear) Prepare(arms int) error {
	if len(l.Arms) != arms || arms < 1 {
		return noregret.BadInputf("linear.arms", "%d models: want one for each of the %d arms", len(l.Arms), arms)
	}
	if l.encoder != nil {
		return nil
	}
	if err := l.rule().check("linear."); err != nil {
		return err
	}
	e, err := NewEncoder(l.Features)
	if err != nil {
		return err
	}
	numbers, allowed := 0, make([]bool, arms)
	for k := range l.Arms {
		if l.Arms[k].Retired {
			continue
		}
		allowed[k] = true
		numbers += len(l.Arms[k].Factor)
		if err := l.checkArm(k, e.Dim()); err != nil {
			return err
		}
	}
	switch {
	case !slices.Contains(allowed, true):
		return noregret.BadInputf("linear.arms", "all are retired: one must not be")
	case numbers > MaxNumbers:
		return noregret.BadInputf("linear.arms", "%d arms with %d coordinates need %d numbers: want at most %d; "+
			"use fewer features, fewer buckets or squarecb", count(allowed), e.Dim(), numbers, MaxNumbers)
	}
	l.encoder, l.allowed = e, allowed
	return nil
}

// checkArm returns an error if the model of arm k does not fit dim coordinates.
func (l *Linear) checkArm(k, dim int) error {
	a, want := &l.Arms[k], Triangle(dim)
	if l.Kind == SquareCB {
		want = 0
	}
	place := fmt.Sprintf("linear.arms[%d]", k)
	if len(a.Mean) != dim || len(a.Factor) != want {
		return noregret.BadInputf(place, "%d weights and %d numbers in the factor: want %d and %d", len(a.Mean),
			len(a.Factor), dim, want)
	}
	for _, list := range [][]float64{a.Mean, a.Factor} {
		for _, v := range list {
			if !(math.Abs(v) <= maxWeight) {
				return noregret.BadInputf(place, "%v: want numbers of size at most 1e60", v)
			}
		}
	}
	return nil
}

// maxWeight is the greatest size of a model's numbers, so that no score overflows.
const maxWeight = 1e60

// Encoder returns the encoder of the features; nil before Prepare.
func (l *Linear) Encoder() *Encoder { return l.encoder }

// check returns an error if x is not a vector of the encoder.
func (l *Linear) check(x []float64) error {
	if l.encoder == nil {
		return noregret.BadInputf("linear", "not prepared: call Prepare first")
	}
	if len(x) != l.encoder.Dim() {
		return noregret.BadInputf("x", "%d coordinates: want %d", len(x), l.encoder.Dim())
	}
	for i, v := range x {
		if !(math.Abs(v) <= maxWeight) {
			return noregret.BadInputf(fmt.Sprintf("x[%d]", i), "%v: want numbers of size at most 1e60", v)
		}
	}
	return nil
}

// score writes the scores and, but for squarecb, the widths of the arms that are not retired. Work
// has a number for each coordinate.
func (l *Linear) score(scores, widths, work, x []float64) {
	for k := range l.Arms {
		a := &l.Arms[k]
		scores[k], widths[k] = 0, 0
		if a.Retired {
			continue
		}
		scores[k] = vec.Dot(x, a.Mean)
		if l.Kind != SquareCB {
			widths[k] = width(work, a.Factor, x)
		}
	}
}

// width is ‖Fᵀx‖ for the upper triangular F that factor holds, in O(d) for each coordinate of x
// that is not 0.
func width(work, factor, x []float64) float64 {
	clear(work)
	d, row := len(x), factor
	for i, v := range x {
		if v != 0 {
			vec.AddScaled(work[i:], v, row[:d-i])
		}
		row = row[d-i:]
	}
	return math.Sqrt(vec.Dot(work, work))
}

// Clone returns a deep copy, which is not prepared.
func (l *Linear) Clone() *Linear {
	c := *l
	c.encoder = nil
	c.Features = slices.Clone(l.Features)
	for i := range c.Features {
		c.Features[i].Values = slices.Clone(c.Features[i].Values)
	}
	c.Arms = slices.Clone(l.Arms)
	for k := range c.Arms {
		c.Arms[k].Mean = slices.Clone(c.Arms[k].Mean)
		c.Arms[k].Factor = slices.Clone(c.Arms[k].Factor)
	}
	return &c
}

var _ json.Unmarshaler = (*Range)(nil)
