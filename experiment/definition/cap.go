package definition

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
)

// Cap is what larger observations of a metric count as. A document has the number, or a quantile of
// values from before the experiment, which gives the number when it is read.
type Cap float64

// capForm is a cap as a quantile.
type capForm struct {
	Quantile float64   `json:"quantile" exclusiveMinimum:"0" exclusiveMaximum:"1"`
	Of       []float64 `json:"of" minItems:"1" minimum:"-1e15" maximum:"1e15"`
}

// UnmarshalStrict implements [strictjson.Unmarshaler].
func (c *Cap) UnmarshalStrict(first byte, decode func(v any) error) error {
	if first != '{' {
		return decode((*float64)(c))
	}
	var f capForm
	if err := decode(&f); err != nil {
		return err
	}
	switch {
	case !(f.Quantile > 0 && f.Quantile < 1):
		return noregret.BadInputf("quantile", "%v: want a number in (0, 1)", f.Quantile)
	case len(f.Of) == 0:
		return noregret.BadInputf("of", "no values: want those of units from before the experiment")
	}
	for i, v := range f.Of {
		if !within(v) {
			return noregret.BadInputf("of", "value %d is %v: want a number of size at most %v", i+1, v, largest)
		}
	}
	slices.Sort(f.Of)
	n := float64(len(f.Of))
	v := f.Of[min(max(int(math.Ceil(float64(f.Quantile*n)*(1-1e-12)))-1, 0), len(f.Of)-1)]
	if !(v > 0) {
		return noregret.BadInputf("", "the quantile %v of the %d values is %v: want one above 0", f.Quantile, len(f.Of),
			v)
	}
	*c = Cap(v)
	return nil
}
