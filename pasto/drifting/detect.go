package drifting

import (
	"encoding"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/drift"
)

// trigger is [drift.Trigger], as far as it is needed.
type trigger interface {
	Add(x float64) (bool, error)
	Reset()
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// mostResidual bounds the residuals that a detector takes: one outlier alone is no change.
const mostResidual = 4

// mostOfADWIN bounds those that ADWIN takes, whose bound grows with their range.
const mostOfADWIN = 2

// most is the bound for a detector.
func most(name string) float64 {
	if name == "adwin" {
		return mostOfADWIN
	}
	return mostResidual
}

// newDetector returns a detector for standardized residuals. False alarms are rare: docs/pasto.md
// has their rates.
func newDetector(name string) (changepoint.Detector, error) {
	switch name {
	case "page-hinkley":
		return changepoint.NewPageHinkley(changepoint.PageHinkleyOptions{Drift: 0.5, Threshold: 11, Rounds: 16})
	case "adwin":
		o := changepoint.DefaultADWINOptions()
		o.Lower, o.Upper, o.Delta = -mostOfADWIN, mostOfADWIN, 0.05
		return changepoint.NewADWIN(o)
	case "kswin":
		o := changepoint.DefaultKSWINOptions()
		o.Alpha = 1e-5
		return changepoint.NewKSWIN(o)
	}
	if name != "cusum" {
		return nil, noregret.BadInputf("detector", "%q: want one of %q", name, Detectors())
	}
	return changepoint.NewCUSUM(changepoint.CUSUMOptions{
		Deviation: 1, Drift: 0.5, Threshold: 10, Clip: mostResidual,
	})
}

// DetectResiduals returns the trigger of a detector, one of [Detectors], for standardized
// residuals: it restarts where they are no longer of mean 0. It cuts them off at 4 or, for "adwin",
// at 2.
func DetectResiduals(name string) (drift.Trigger, error) {
	d, err := newDetector(name)
	if err != nil {
		return nil, err
	}
	return drift.Detect(d, -most(name), most(name))
}

// newTriggers makes the triggers for so many arms.
func (l *Learner) newTriggers(arms int) (list []trigger, err error) {
	switch l.options.Kind {
	case Restart:
		list = make([]trigger, 1)
		list[0], err = drift.Every(l.options.Rounds)
	case Detect:
		list = make([]trigger, arms*l.metrics)
		for i := range list {
			if list[i], err = DetectResiduals(l.options.Detector); err != nil {
				return nil, err
			}
		}
	}
	return list, err
}

// detect passes a residual of the round to its detector.
func (l *Learner) detect(k, i int, z float64) {
	l.residuals[k] = max(l.residuals[k], math.Abs(z))
	changed, err := l.triggers[k*l.metrics+i].Add(z)
	if err != nil || !changed || !l.in.State().Active[k] {
		return
	}
	if n := len(l.alarmed); n == 0 || l.alarmed[n-1] != k {
		l.alarmed = append(l.alarmed, k)
	}
}
