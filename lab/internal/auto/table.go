package auto

import (
	"fmt"
	"math"
	"strings"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/lab/internal/sets"
	"github.com/noregret/noregret/lab/internal/study"
)

// line is a measure on a set, over the splits.
type line struct {
	set, measure string
	splits       int
	auto, best   summary
	// usual is the usual algorithm, figured the same with its figures, peer scikit-learn; each is
	// nil if it was not asked for.
	usual, figured, peer *summary
}

// lines are the measures on the sets for which auto and the algorithms by name have results on at
// least two splits, on as many splits as all have.
func (t *trials) lines(chosen []sets.Set) []line {
	var out []line
	for _, b := range chosen {
		measures, err := t.measuresOf(b.Task())
		if err != nil {
			continue // split has returned it
		}
		for _, m := range measures {
			usual := classify.DefaultAlgorithm(b.Task(), m)
			var names []string
			for _, name := range t.algorithmsOf(b.Task()) {
				if trains(b.Task(), name, m) {
					names = append(names, name)
				}
			}
			for n := t.splits; n >= 2; n-- {
				if l, ok := t.line(b.Name, m.Name(), usual, names, n); ok {
					out = append(out, l)
					break
				}
			}
		}
	}
	return out
}

// line is a measure on the first n splits of a set; ok says whether there is all that it needs.
func (t *trials) line(set, measure, usual string, names []string, n int) (l line, ok bool) {
	l = line{set: set, measure: measure, splits: n}
	if l.auto, ok = t.results.of(set, measure, classify.Auto, n); !ok || len(names) == 0 {
		return l, false
	}
	for k, name := range names {
		s, ok := t.results.of(set, measure, name, n)
		if !ok {
			return l, false
		}
		if k == 0 || s.mean > l.best.mean || math.IsNaN(l.best.mean) {
			l.best = s
		}
		if name == usual {
			l.usual = &s
			if f, ok := t.results.of(set, measure, figuredName, n); ok {
				l.figured = &f
			}
		}
	}
	if t.peer != nil {
		if s, ok := t.results.of(set, measure, peerName, n); ok {
			l.peer = &s
		} else if t.peer.trains(taskOf(measure), measure) {
			return l, false
		}
	}
	return l, true
}

// taskOf is the task of a measure of this comparison.
func taskOf(measure string) classify.Task {
	if strings.Contains(measure, "_") {
		return classify.Multiclass
	}
	return classify.Binary
}

// behind is by how many spreads of the best algorithm auto is behind it.
func (l *line) behind() float64 { return (l.best.mean - l.auto.mean) / max(l.best.spread, 1e-9) }

// lead is by how much auto is ahead of scikit-learn, NaN without it.
func (l *line) lead() float64 {
	if l.peer == nil {
		return math.NaN()
	}
	return l.auto.mean - l.peer.mean
}

// times is the time of auto in trainings of another algorithm, NaN without that.
func (l *line) times(other *summary) float64 {
	if other == nil {
		return math.NaN()
	}
	return l.auto.seconds / other.seconds
}

// report has the lines and how often auto is no more than a spread behind.
func (t *trials) report(chosen []sets.Set) *study.Report {
	out := study.Table{
		Title: "auto beside each algorithm by name",
		Columns: []string{
			"set", "measure", "splits", "auto", "best by name", "its name", "behind", "usual", peerName, "lead",
			"trainings", "with figures", "seconds",
		},
	}
	lines := t.lines(chosen)
	for i := range lines {
		l := &lines[i]
		out.Add(l.set, l.measure, l.splits, l.auto.cell(), l.best.cell(), l.best.algorithm,
			known("%.2f", l.behind()), l.usual.cell(), l.peer.cell(), known("%+.3f", l.lead()),
			known("%.1f", l.times(l.usual)), known("%.1f", l.times(l.figured)), known("%.2f", l.auto.seconds))
	}
	if len(lines) > 0 {
		out.Notes = notes(lines)
	}
	return &study.Report{Tables: []study.Table{out}}
}

// notes are the numbers of lines on which auto does well.
func notes(lines []line) string {
	var leads, peerLeads, ratios, figured []float64
	var within, ahead, peerWithin, peerAhead int
	for i := range lines {
		l := &lines[i]
		lead := l.auto.mean - l.best.mean
		leads = append(leads, lead)
		within += one(l.behind() <= 1)
		ahead += one(lead >= 0)
		if l.usual != nil {
			ratios = append(ratios, l.times(l.usual))
		}
		if l.figured != nil {
			figured = append(figured, l.times(l.figured))
		}
		if l.peer != nil {
			peerLeads = append(peerLeads, l.lead())
			peerWithin += one(l.lead() >= -near)
			peerAhead += one(l.lead() >= 0)
		}
	}
	text := fmt.Sprintf("Auto is at most one spread behind the best single algorithm in %d of %d lines, and at "+
		"least as\ngood in %d; its mean lead is %+.3f.\n", within, len(lines), ahead, study.MeanOf(leads).Mean)
	if len(peerLeads) > 0 {
		text += fmt.Sprintf("It is at most %.2f behind scikit-learn in %d of %d lines, and at least as good in %d; "+
			"its mean\nlead is %+.3f.\n", near, peerWithin, len(peerLeads), peerAhead, study.MeanOf(peerLeads).Mean)
	}
	if len(ratios) > 0 {
		text += fmt.Sprintf("It takes %.1f trainings of the usual algorithm in the mean, at most %d in %d lines.\n",
			study.MeanOf(ratios).Mean, most, atMost(ratios))
	}
	if len(figured) > 0 {
		text += fmt.Sprintf("Of trainings with figures, as noregret train states them, it takes %.1f in the mean, at "+
			"most\n%d in %d of %d lines.\n", study.MeanOf(figured).Mean, most, atMost(figured), len(figured))
	}
	return text
}

// near is the distance from scikit-learn that is counted, most the number of trainings.
const (
	near = 0.02
	most = 4
)

// atMost is how many of the numbers of trainings are at most the number that is counted.
func atMost(trainings []float64) (n int) {
	for _, x := range trainings {
		n += one(x <= most)
	}
	return n
}

// one is 1 for true.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// known is a number, - for one that is not known.
func known(format string, v float64) any {
	if v != v {
		return "-"
	}
	return study.Number(format, v)
}

// cell is the mean with the spread, - for none.
func (s *summary) cell() any {
	if s == nil {
		return "-"
	}
	return study.Estimate{Mean: s.mean, Error: s.spread}.Cell("%.3f")
}
