package plan

import (
	"time"

	"github.com/noregret/noregret/experiment/definition"
)

// rampCourse is the expected course of a ramp: when the gates of its stages open.
type rampCourse struct {
	stage  int
	since  float64   // the day on which the stage began
	ends   []float64 // the days on which stages ended
	judges []*judge  // of all guardrails
}

// share returns the share of the traffic that the learned mixture gets in the stage that is so many
// stages ahead.
func (r *rampCourse) share(stages []definition.Stage, ahead int) float64 {
	if i := r.stage + ahead; i < len(stages) {
		return stages[i].Share
	}
	return 1
}

// step begins the next stage if its gates are open at the beginning of a round, given the learned
// shares of the best arm and of each other arm.
func (r *rampCourse) step(x *course, best, other float64) {
	if r.stage >= len(x.d.Ramp) || len(x.history) < 2 {
		return
	}
	day, s := x.history[len(x.history)-1].day, &x.d.Ramp[r.stage]
	for _, j := range r.judges {
		j.follow()
	}
	// Days are sums of rounds, which are rounded.
	lasted, next := day-r.since+1e-6, r.share(x.d.Ramp, 1)
	if float64(x.units*lasted) < float64(s.Units) || lasted < float64(s.Time)/float64(24*time.Hour) {
		return
	}
	for _, j := range r.judges {
		if s.Guardrails == "held" && !j.holds(float64(next*best), float64(next*other)) {
			return
		}
	}
	r.stage, r.since, r.ends = r.stage+1, day, append(r.ends, day)
}
