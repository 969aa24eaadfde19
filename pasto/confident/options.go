package confident

import (
	"math"
	"reflect"

	"github.com/noregret/noregret"
)

// Options are the parameters of [New]. Start from [DefaultOptions]; 0 stands for none.
type Options struct {
	// Optimism z is how many standard errors estimates move in the good direction of their metric
	// for the mixture that explores.
	Optimism float64
	// Caution c is how many standard errors they move in the other direction for the mixture that
	// is deployed. HardCaution replaces it for hard guardrails.
	Caution, HardCaution float64
	// Share is the largest share, from 0 to 1, of what explores in what is served, and Decay scales
	// it: see [Learner.Serving] and the package's section on exploration.
	Share, Decay float64
	// Floor is a lower bound on the share that all arms have alike in what is served, from 0 to 1.
	// It finds arms that were bad and became good unobserved. Deployed is without it.
	Floor float64
	// ChangeThreshold is the number of standard errors by which the recent mean of an arm must
	// differ from its mean to count as a change; 0 looks for no changes.
	ChangeThreshold float64
	// IID makes Draw sample arms independently instead of systematically.
	IID bool
}

// DefaultOptions returns the options of the algorithm "default", which were chosen by measurement
// (lab/docs/pasto.md).
func DefaultOptions() Options {
	return Options{Optimism: 2, Caution: 0.5, HardCaution: 2, Share: 0.5, Decay: 5, ChangeThreshold: 6}
}

// validate returns an error if an option is out of range.
func (o *Options) validate() error {
	if reflect.ValueOf(*o).IsZero() {
		return noregret.BadInputf("options", "the zero value neither explores nor is cautious: start from "+
			"DefaultOptions")
	}
	const number, share = "%v: want a finite number, at least 0", "%v: want a share from 0 to 1"
	for _, v := range []struct {
		name    string
		v, most float64
		want    string
	}{
		{"optimism", o.Optimism, math.MaxFloat64, number},
		{"caution", o.Caution, math.MaxFloat64, number},
		{"hard caution", o.HardCaution, math.MaxFloat64, number},
		{"decay", o.Decay, math.MaxFloat64, number},
		{"change threshold", o.ChangeThreshold, math.MaxFloat64, number},
		{"share", o.Share, 1, share},
		{"floor", o.Floor, 1, share},
	} {
		if !(v.v >= 0 && v.v <= v.most) {
			return noregret.BadInputf(v.name, v.want, v.v)
		}
	}
	return nil
}
