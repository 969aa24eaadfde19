package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/internal/words"
)

// Encoder turns contexts into vectors. Coordinate 0 is the constant 1. The features follow in their
// order, each with
//
//   - a number v in [low, high]: one coordinate, 2·(v − low)/(high − low) − 1, which is in [−1, 1];
//   - a category: one coordinate for each value, 1 for the one at hand and 0 for the others;
//   - a text: one coordinate for each bucket, see below;
//   - if it is optional: one more coordinate, 1 if the context lacks the field and 0 if not. The
//     others are 0 where the field is missing.
//
// The words of a text are its longest runs of ASCII letters, ASCII digits and bytes above 127,
// with ASCII letters in lower case. Let h be Mix of the word's 64-bit FNV-1a hash, see
// docs/formats/policy.md. The word adds 1 to bucket floor(h'·buckets/2^63), or −1 if h is odd, with
// h' = floor(h/2); the sign makes the inner product of two texts an unbiased estimate (Weinberger,
// Dasgupta, Langford, Smola and Attenberg 2009). The buckets are then scaled to the Euclidean
// length 1, unless all are 0. So no vector is longer than √(1 + number of features).
//
// An Encoder is immutable and safe for concurrent use.
type Encoder struct {
	features []Feature
	start    []int          // the first coordinate of each feature
	index    map[string]int // the feature of each name
	values   []map[string]int
	names    []string
}

// NewEncoder returns the encoder of the features, which it copies. It returns an error of code
// bad_input if a declaration is not valid, two have the same name, or all together have more than
// [MaxDim] coordinates.
func NewEncoder(features []Feature) (*Encoder, error) {
	e := &Encoder{
		features: make([]Feature, 0, len(features)), names: []string{constant},
		index: make(map[string]int, len(features)),
	}
	for i := range features {
		f := features[i]
		place := fmt.Sprintf("context[%d]", i)
		if err := f.check(place); err != nil {
			return nil, err
		}
		if _, ok := e.index[f.Name]; ok {
			return nil, noregret.BadInputf(place+".name", "%q occurs twice", f.Name)
		}
		if len(e.names)+f.dim() > MaxDim {
			return nil, noregret.BadInputf(place, "%d coordinates with those of the features before: want at most %d",
				len(e.names)+f.dim(), MaxDim)
		}
		f.Values = append([]string(nil), f.Values...)
		e.index[f.Name] = i
		e.features = append(e.features, f)
		e.start = append(e.start, len(e.names))
		e.addNames(&f)
	}
	return e, nil
}

// addNames appends the names of a feature's coordinates.
func (e *Encoder) addNames(f *Feature) {
	var values map[string]int
	switch f.Kind {
	case Number:
		e.names = append(e.names, f.Name)
	case Category:
		values = make(map[string]int, len(f.Values))
		for k, v := range f.Values {
			values[v] = k
			e.names = append(e.names, f.Name+"="+v)
		}
	default:
		for k := range f.Buckets {
			e.names = append(e.names, f.Name+"#"+strconv.Itoa(k))
		}
	}
	e.values = append(e.values, values)
	if f.Optional {
		e.names = append(e.names, f.Name+"?")
	}
}

// Dim is the number of coordinates, from 1 to [MaxDim].
func (e *Encoder) Dim() int { return len(e.names) }

// Names returns a name for each coordinate: "constant", "age", "country=DE", "query#17", and
// "age?" for the coordinate that is 1 where an optional feature is missing. The caller must not
// change the slice.
func (e *Encoder) Names() []string { return e.names }

// Features returns the declarations. The caller must not change them.
func (e *Encoder) Features() []Feature { return e.features }

// Encode returns the vector of a context, a JSON object with a field for each feature. It reuses
// dst if that has room. An empty context stands for {}. Encode returns an error of code bad_input,
// whose place is the field ("context.age"), if the context is not such an object, has a field that
// is not a feature, lacks one that is not optional, or a value is of the wrong type, out of its
// range or not among its values. The cost is linear in the context's length and in [Encoder.Dim].
func (e *Encoder) Encode(dst []float64, context json.RawMessage) ([]float64, error) {
	if len(context) > MaxContext {
		return nil, noregret.BadInputf("context", "%d bytes: want at most %d", len(context), MaxContext)
	}
	if !utf8.Valid(context) {
		return nil, noregret.BadInputf("context", "not valid UTF-8")
	}
	x := zeros(dst, e.Dim())
	x[0] = 1
	var have [MaxDim/64 + 1]uint64
	s := scanner{text: context}
	if s.blank(); s.at < len(context) {
		if err := e.object(x, &s, have[:]); err != nil {
			return nil, err
		}
	}
	for i := range e.features {
		if have[i/64]>>(i%64)&1 == 1 {
			continue
		}
		f := &e.features[i]
		if !f.Optional {
			return nil, noregret.BadInputf(strictjson.Member("context", f.Name), "missing: want %s", f.wanted())
		}
		x[e.start[i]+f.dim()-1] = 1
	}
	return x, nil
}

// zeros returns n zeros, in dst if that has room.
func zeros(dst []float64, n int) []float64 {
	if cap(dst) < n {
		return make([]float64, n)
	}
	dst = dst[:n]
	clear(dst)
	return dst
}

// object encodes the fields of the object at s and notes in have which features it found.
func (e *Encoder) object(x []float64, s *scanner, have []uint64) error {
	return s.fields(func(name []byte, v value) error {
		i, ok := e.index[string(name)]
		switch {
		case !ok:
			return noregret.BadInputf(strictjson.Member("context", string(name)), "unknown feature: want one of %.300s",
				e.known())
		case have[i/64]>>(i%64)&1 == 1:
			return noregret.BadInputf(strictjson.Member("context", string(name)), "occurs twice")
		}
		have[i/64] |= 1 << (i % 64)
		return e.encode(x, i, v)
	})
}

// known lists the names of the features, at least those that an error shows.
func (e *Encoder) known() string {
	if len(e.features) == 0 {
		return "none, as none is declared"
	}
	var b []byte
	for i := 0; i < len(e.features) && len(b) < 300; i++ {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, e.features[i].Name...)
	}
	return string(b)
}

// wanted describes the values of a feature.
func (f *Feature) wanted() string {
	switch f.Kind {
	case Number:
		return fmt.Sprintf("a number from %v to %v", f.Range[0], f.Range[1])
	case Category:
		text := ""
		for i, v := range f.Values {
			if i > 0 {
				text += ", "
			}
			if len(text) > 200 {
				return fmt.Sprintf("one of the strings %s... (%d values)", text, len(f.Values))
			}
			text += strconv.Quote(v)
		}
		return "one of the strings " + text
	default:
		return "a string"
	}
}

// encode adds feature i with the given value.
func (e *Encoder) encode(x []float64, i int, v value) error {
	f := &e.features[i]
	x = x[e.start[i]:]
	ok := false
	switch f.Kind {
	case Number:
		n, low, high := v.number, f.Range[0], f.Range[1]
		if ok = v.kind == 'n' && n >= low && n <= high; ok {
			x[0] = min(max(float64(2*((n-low)/(high-low)))-1, -1), 1)
		}
	case Category:
		var k int
		if k, ok = e.values[i][string(v.text)]; ok {
			if ok = v.kind == 's' || v.kind == 'b'; ok {
				x[k] = 1
			}
		}
	default:
		if ok = v.kind == 's'; ok {
			hashWords(x[:f.Buckets], v.text)
		}
	}
	if !ok {
		return noregret.BadInputf(strictjson.Member("context", f.Name), "%s: want %s", v.shown(), f.wanted())
	}
	return nil
}

// hashWords counts the words of a text in buckets, which are 0, and scales them to length 1.
func hashWords(buckets []float64, text []byte) {
	words.Each(text, func(hash uint64) bool {
		k, sign := words.Slot(hash, len(buckets))
		buckets[k] += sign
		return true
	})
	if square := vec.Dot(buckets, buckets); square > 0 {
		vec.Scale(buckets, 1/math.Sqrt(square))
	}
}
