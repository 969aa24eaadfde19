package play

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/play"
)

// playResult is one entry of the list that --json prints.
type playResult struct {
	Learner        string      `json:"learner"`
	Game           string      `json:"game"`
	Rounds         int         `json:"rounds"`
	Seed           uint64      `json:"seed"`
	LearnerLoss    show.Number `json:"learner_loss"`
	ComparatorLoss show.Number `json:"comparator_loss"`
	Regret         show.Number `json:"regret"`
	Bound          show.Number `json:"bound"`
	SharpBound     show.Number `json:"sharp_bound"`
	Ratio          show.Number `json:"ratio"`
	Gap            show.Number `json:"comparator_gap"`
	Floor          show.Number `json:"floor"`
	// Noisy is whether the bound is one of the expected regret, as the game adds noise. Holds is
	// then that of the mean over the runs, null for one run.
	Noisy      bool        `json:"noisy"`
	Holds      *bool       `json:"holds"`
	Comparator []float64   `json:"comparator,omitempty"`
	Curve      []playPoint `json:"curve"`
	Dynamic    *playMoving `json:"dynamic,omitempty"`
}

type playPoint struct {
	Round  int         `json:"round"`
	Loss   show.Number `json:"loss"`
	Regret show.Number `json:"regret"`
	Bound  show.Number `json:"bound"`
}

// longestComparator is the largest dimension at which --json prints the comparator.
const longestComparator = 100

// playSummary is one entry of the list that --summary --json prints.
type playSummary struct {
	Learner     string      `json:"learner"`
	Game        string      `json:"game"`
	Rounds      int         `json:"rounds"`
	Runs        int         `json:"runs"`
	Seed        uint64      `json:"seed"`
	MeanLoss    show.Number `json:"mean_learner_loss"`
	LossError   show.Number `json:"learner_loss_error"`
	MeanRegret  show.Number `json:"mean_regret"`
	RegretError show.Number `json:"regret_error"`
	MeanBound   show.Number `json:"mean_bound"`
	BoundError  show.Number `json:"bound_error"`
	SharpBound  show.Number `json:"mean_sharp_bound"`
	SharpError  show.Number `json:"sharp_bound_error"`
	WorstRatio  show.Number `json:"worst_ratio"`
	WorstSeed   *uint64     `json:"worst_seed"`
	Floor       show.Number `json:"floor"`
	Noisy       bool        `json:"noisy"`
	Holds       *bool       `json:"holds"`

	Dynamic *playMovingSummary `json:"dynamic,omitempty"`
}

// playSkipped is the entry of a learner that cannot play the game, at the end of a list.
type playSkipped struct {
	Learner string `json:"learner"`
	Game    string `json:"game"`
	Skipped string `json:"skipped"` // the reason
}

// withSkipped returns a list with the learners that did not play.
func withSkipped[T any](list []T, skipped []playSkipped) []any {
	out := make([]any, 0, len(list)+len(skipped))
	for _, e := range list {
		out = append(out, e)
	}
	for _, e := range skipped {
		out = append(out, e)
	}
	return out
}

// ifKnown returns a pointer to an answer, nil if it is not known.
func ifKnown(holds, known bool) *bool {
	if !known {
		return nil
	}
	return &holds
}

func playJSON(results []play.Result) []playResult {
	list := make([]playResult, 0, len(results))
	means := map[string]*bool{} // by learner, with noise
	for _, s := range play.Summarize(results) {
		means[s.Learner] = ifKnown(s.Holds())
	}
	for _, r := range results {
		holds := ifKnown(r.Holds(), true)
		if r.Noisy {
			holds = means[r.Learner]
		}
		e := playResult{
			Learner: r.Learner, Game: r.Game, Rounds: r.Rounds, Seed: r.Seed, LearnerLoss: show.Number(r.LearnerLoss),
			ComparatorLoss: show.Number(r.ComparatorLoss), Regret: show.Number(r.Regret), Bound: show.Number(r.Bound),
			SharpBound: show.Number(r.SharpBound), Ratio: show.Number(r.Ratio()), Gap: show.Number(r.Gap),
			Floor: show.Number(r.Floor), Noisy: r.Noisy, Holds: holds, Curve: []playPoint{},
		}
		if len(r.Comparator) <= longestComparator {
			e.Comparator = r.Comparator
		}
		for _, p := range r.Curve {
			e.Curve = append(e.Curve, playPoint{
				p.Round, show.Number(p.Loss), show.Number(p.Regret),
				show.Number(p.Bound),
			})
		}
		e.Dynamic = movingJSON(r)
		list = append(list, e)
	}
	return list
}

func summaryJSON(summaries []play.Summary) []playSummary {
	list := make([]playSummary, 0, len(summaries))
	for _, s := range summaries {
		var worst *uint64
		if !math.IsNaN(s.WorstRatio) {
			worst = &s.WorstSeed
		}
		list = append(list, playSummary{
			Learner: s.Learner, Game: s.Game, Rounds: s.Rounds, Runs: s.Runs, Seed: s.Seed,
			MeanLoss: show.Number(s.Loss.Mean), LossError: show.Number(s.Loss.StandardError),
			MeanRegret: show.Number(s.Regret.Mean), RegretError: show.Number(s.Regret.StandardError),
			MeanBound: show.Number(s.Bound.Mean), BoundError: show.Number(s.Bound.StandardError),
			SharpBound: show.Number(s.SharpBound.Mean), SharpError: show.Number(s.SharpBound.StandardError),
			WorstRatio: show.Number(s.WorstRatio), WorstSeed: worst, Floor: show.Number(s.Floor), Noisy: s.Noisy,
			Holds:   ifKnown(s.Holds()),
			Dynamic: movingSummaryJSON(s.Dynamic),
		})
	}
	return list
}

// writeResults prints the certificates and, of several runs, their means; with onlySummary the
// means alone.
func writeResults(a *command.App, results []play.Result, onlySummary bool) error {
	first := results[0]
	fmt.Fprintf(a.Stdout, "%s, %s\n\n", first.Game, show.Count(first.Rounds, "round", "rounds"))
	summaries := play.Summarize(results)
	if !onlySummary {
		if err := writeRuns(a, results); err != nil {
			return err
		}
		if err := writeMovingRuns(a, results); err != nil || summaries[0].Runs == 1 {
			return err
		}
		fmt.Fprintln(a.Stdout)
	}
	if err := writeSummaries(a, summaries); err != nil {
		return err
	}
	return writeMovingSummaries(a, summaries)
}

// writeRuns prints a row for every certificate.
func writeRuns(a *command.App, results []play.Result) error {
	sharp := slices.ContainsFunc(results, func(r play.Result) bool { return !math.IsNaN(r.SharpBound) })
	floors := slices.ContainsFunc(results, func(r play.Result) bool { return !math.IsNaN(r.Floor) })
	g := show.Table{Without: map[int]bool{7: !sharp, 10: !floors}}
	g.Add("learner", "seed", "loss", "best fixed", "gap", "regret", boundHead(results[0].Noisy), "sharp bound", "used",
		"tight", "floor")
	for _, r := range results {
		tight := "-"
		if p := r.Tightest(); p != nil {
			tight = strconv.Itoa(p.Round)
		}
		g.Add(r.Learner, strconv.FormatUint(r.Seed, 10), show.Short(r.LearnerLoss), show.Short(r.ComparatorLoss),
			gapText(r.Gap), show.Short(r.Regret), boundText(r.Bound), boundText(r.SharpBound), shareText(r.Ratio()),
			tight, boundText(r.Floor))
	}
	return g.Write(a.Stdout)
}

// boundHead is the head of a column of bounds.
func boundHead(noisy bool) string {
	if noisy {
		return "bound in expectation"
	}
	return "bound"
}

// writeSummaries prints a row for every learner.
func writeSummaries(a *command.App, summaries []play.Summary) error {
	sharp := slices.ContainsFunc(summaries, func(s play.Summary) bool { return !math.IsNaN(s.SharpBound.Mean) })
	floors := slices.ContainsFunc(summaries, func(s play.Summary) bool { return !math.IsNaN(s.Floor) })
	g := show.Table{Without: map[int]bool{7: !sharp, 10: !floors}}
	g.Add("learner", "runs", "mean loss", "error", "mean regret", "error", "mean "+boundHead(summaries[0].Noisy),
		"mean sharp bound", "most used", "seed", "mean floor")
	for _, s := range summaries {
		seed := "-"
		if !math.IsNaN(s.WorstRatio) {
			seed = strconv.FormatUint(s.WorstSeed, 10)
		}
		g.Add(s.Learner, strconv.Itoa(s.Runs), show.Short(s.Loss.Mean), errorText(s.Loss.StandardError),
			show.Short(s.Regret.Mean), errorText(s.Regret.StandardError), boundText(s.Bound.Mean),
			boundText(s.SharpBound.Mean), shareText(s.WorstRatio), seed, boundText(s.Floor))
	}
	return g.Write(a.Stdout)
}

// errorText formats a standard error with two digits.
func errorText(v float64) string {
	if v-v == 0 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return "-"
}

// shareText formats a part of the bound in percent.
func shareText(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

func boundText(v float64) string {
	if v-v != 0 {
		return "-"
	}
	return show.Short(v)
}

// gapText describes the certified gap of the comparator, or names the game's comparator if there is
// no best point.
func gapText(v float64) string {
	switch {
	case v == 0:
		return "exact"
	case math.IsInf(v, 1):
		return "named"
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
