package plan

import (
	"math"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/definition"
)

// armsLevel is the part of a guardrail's alpha that the sequences of the arms share.
const armsLevel = (1 - servedLevel) / 2

// judge judges a guardrail along a course as the experiment does: by the sequence of what was
// served, moved to the mixture that is served now, or in the next stage of a ramp, by those of the
// arms.
type judge struct {
	*course
	metric   int
	limit    float64 // of a change, relative to the mean with its sign
	up       bool
	relative bool
	alpha    float64
	o        confseq.ContrastOptions
	judged   int // the rounds that count
	// The contrasts of all units, of the best arm, of another arm and of the control.
	served, best, other, control confseq.Contrast
}

// newJudge returns the judge of a guardrail.
func newJudge(x *course, g *definition.Guardrail) *judge {
	limit, up, relative, _ := g.Limit()
	metric := x.d.MetricIndex(g.Metric)
	if relative {
		limit = x.signed(metric, limit)
	}
	return &judge{
		course: x, metric: metric, limit: limit, up: up, relative: relative, alpha: float64(servedLevel * g.Alpha),
		o: confseq.ContrastOptions{Width: x.width(metric), Inflation: 1},
	}
}

// follow adds the rounds that count by now.
func (j *judge) follow() {
	to := len(j.history) - 1
	if j.waits(j.metric) {
		to = j.closed(j.metric)
	}
	for j.judged < to {
		j.judged++
		if j.relative {
			j.add(j.history[j.judged-1], j.history[j.judged])
		}
	}
}

// add adds the round between two entries of the history.
func (j *judge) add(from, to units) {
	more := float64(j.arms - 1)
	y := mean(j.d, j.metric)
	better := (j.improved(j.metric) - y) / math.Abs(y)
	best, other, control := to.best-from.best, to.other-from.other, to.control-from.control
	rest := best + float64(more*other)
	// The farthest value is that of all rounds.
	group := func(n, change, all float64) confseq.Group {
		g := j.group(j.metric, n, change)
		g.Farthest = j.farthest(j.metric, all)
		return g
	}
	c := group(control, 0, to.control)
	j.control.AddControl(c, rest+control)
	if rest > 0 {
		j.served.AddServed(group(rest, float64(better*(best/rest)), to.best+float64(more*to.other)), c)
		j.best.AddArm(group(best, better, to.best), c, rest+control)
		j.other.AddArm(group(other, 0, to.other), c, rest+control)
	}
	if j.o.Tight == 0 {
		j.o.Tight = j.served.Tight(j.limit)
	}
}

// holds reports whether the mixture of these shares is shown to hold.
func (j *judge) holds(best, other float64) bool {
	if !j.relative {
		return j.levelHolds(best, other)
	}
	if !(j.served.Weight > 0) {
		return false
	}
	more := float64(j.arms - 1)
	total := j.control.Weight + j.best.Weight + float64(more*j.other.Weight)
	low, high := j.served.Interval(j.limit, j.alpha, j.o)
	move := func(c *confseq.Contrast, share, arms float64) {
		moved := share - c.Weight/total
		if !(arms > 0) || moved == 0 {
			return
		}
		from, to := c.Interval(j.limit, float64(j.alpha/servedLevel*armsLevel)/float64(j.arms+1), j.o)
		if moved < 0 {
			from, to = to, from
		}
		low += float64(float64(arms*moved) * from)
		high += float64(float64(arms*moved) * to)
	}
	move(&j.control, 1-best-float64(more*other), 1)
	move(&j.best, best, 1)
	move(&j.other, other, more)
	return j.up && low >= 0 || !j.up && high <= 0 && !math.IsNaN(high)
}

// levelHolds is holds for a fixed limit.
func (j *judge) levelHolds(best, other float64) bool {
	u, more := j.history[j.judged], float64(j.arms-1)
	total := u.control + u.best + float64(more*u.other)
	if !(total >= 2) {
		return false
	}
	value, better := mean(j.d, j.metric), j.improved(j.metric)
	served := value + float64((better-value)*(u.best/total))
	low, high := j.levelOf(j.metric, int64(total), served, j.limit, float64(2*j.alpha))
	alpha := float64(2*float64(j.alpha/servedLevel*armsLevel)) / float64(j.arms+1)
	move := func(n, value, share, arms float64) {
		moved := share - n/total
		if !(arms > 0) || moved == 0 {
			return
		}
		from, to := j.levelOf(j.metric, int64(n), value, j.limit, alpha)
		if moved < 0 {
			from, to = to, from
		}
		low += float64(float64(arms*moved) * from)
		high += float64(float64(arms*moved) * to)
	}
	move(u.control, value, 1-best-float64(more*other), 1)
	move(u.best, better, best, 1)
	move(u.other, value, other, more)
	return j.up && low >= 0 || !j.up && high <= 0
}
