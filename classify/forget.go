package classify

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// What an online learner forgets: by a window ([Config.Window]) or by a restart of its steps.

// nextStep counts a step, before anything is computed for it.
func nextStep(o *online) {
	o.t++
	if o.cfg.Window > 0 {
		o.discount()
	}
}

// discount sets the weight of the step's iterate.
func (o *online) discount() {
	w := o.cfg.Window
	keep := portable.Log1p(-1 / float64(w))
	period := int64(w) * discountPeriods
	k := (o.t - 1) % period
	if k == 0 && o.t > 1 {
		past := portable.Exp(float64(keep * float64(period)))
		o.lin.Discount(past, past)
	}
	o.gain = portable.Exp(-float64(keep * float64(k)))
}

// discountPeriods times the window is the number of steps after which the weights of the iterates
// start again at 1: until then they rise to some e^16, for a window of 2 to 2^32.
const discountPeriods = 16

// stepRoot is √t, or √W once the window W is full: step sizes are divided by it.
func stepRoot(o *online) float64 {
	if w := int64(o.cfg.Window); w > 0 {
		return math.Sqrt(float64(min(o.t, w)))
	}
	return math.Sqrt(float64(o.t))
}

// common returns the part that checks examples.
func (o *online) common() *online { return o }

// onlineOf returns the common part of a learner; of a mixture that of its oldest one.
func onlineOf(l Learner) *online { return l.(interface{ common() *online }).common() }

// restartSteps starts the sequence of step sizes and the averages of a learner again, and keeps the
// weights. STAMP's stages start again at the length of the first.
func restartSteps(l Learner) {
	o := onlineOf(l)
	o.t = 0
	o.lin.ResetAverage()
	o.lin.Discount(1, 0)
	switch l := l.(type) {
	case *SPADE:
		l.sumA, l.sumB = 0, 0
	case *STAMP:
		if l.ready {
			l.stage = l.firstStage()
		}
	}
}
