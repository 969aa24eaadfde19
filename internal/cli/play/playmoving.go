package play

import (
	"fmt"
	"strconv"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/play"
)

// playMoving is the key dynamic of an entry of the list that --json prints.
type playMoving struct {
	Regret         show.Number    `json:"regret"`
	ComparatorLoss show.Number    `json:"comparator_loss"`
	Gap            show.Number    `json:"gap"`
	Variation      show.Number    `json:"variation"`
	Hull           show.Number    `json:"hull_variation"`
	Exact          bool           `json:"variation_exact"`
	Path           show.Number    `json:"path"`
	Bound          show.Number    `json:"bound"`
	Floor          show.Number    `json:"floor"`
	Intervals      []playInterval `json:"intervals"`
}

type playInterval struct {
	Length int         `json:"length"`
	First  int         `json:"first"`
	Regret show.Number `json:"regret"`
	Gap    show.Number `json:"gap"`
}

// playMovingSummary is the key dynamic of an entry of the list that --summary --json prints.
type playMovingSummary struct {
	MeanRegret    show.Number `json:"mean_regret"`
	RegretError   show.Number `json:"regret_error"`
	MeanBound     show.Number `json:"mean_bound"`
	MeanInterval  show.Number `json:"mean_worst_interval"`
	IntervalError show.Number `json:"worst_interval_error"`
	MeanVariation show.Number `json:"mean_variation"`
	MeanHull      show.Number `json:"mean_hull_variation"`
	Floor         show.Number `json:"floor"`
}

func movingJSON(r play.Result) *playMoving {
	d := r.Dynamic
	if d == nil {
		return nil
	}
	m := &playMoving{
		Regret: show.Number(d.Regret), ComparatorLoss: show.Number(d.ComparatorLoss), Gap: show.Number(d.Gap),
		Variation: show.Number(d.Variation.Total), Hull: show.Number(d.Variation.Hull), Exact: d.Variation.Exact,
		Path: show.Number(d.Variation.Path), Bound: show.Number(d.Bound), Floor: show.Number(r.DynamicFloor),
		Intervals: []playInterval{},
	}
	for _, v := range d.Intervals {
		m.Intervals = append(m.Intervals, playInterval{v.Length, v.First, show.Number(v.Regret), show.Number(v.Gap)})
	}
	return m
}

func movingSummaryJSON(s *play.DynamicSummary) *playMovingSummary {
	if s == nil {
		return nil
	}
	return &playMovingSummary{
		MeanRegret: show.Number(s.Regret.Mean), RegretError: show.Number(s.Regret.StandardError),
		MeanBound: show.Number(s.Bound.Mean), MeanInterval: show.Number(s.Interval.Mean),
		IntervalError: show.Number(s.Interval.StandardError), MeanVariation: show.Number(s.Variation.Mean),
		MeanHull: show.Number(s.Hull.Mean), Floor: show.Number(s.Floor),
	}
}

// writeMovingRuns prints the dynamics of every certificate, if they were measured.
func writeMovingRuns(a *command.App, results []play.Result) error {
	if results[0].Dynamic == nil {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	g := show.Table{}
	g.Add("learner", "seed", "best sequence", "dynamic regret", "bound", "floor", "variation", "on hull",
		"worst interval",
		"its regret")
	for _, r := range results {
		d, w := r.Dynamic, r.Dynamic.Worst()
		mark := ""
		if !d.Variation.Exact {
			mark = "~"
		}
		g.Add(r.Learner, strconv.FormatUint(r.Seed, 10), show.Short(d.ComparatorLoss), show.Short(d.Regret),
			boundText(d.Bound),
			boundText(r.DynamicFloor), mark+boundText(d.Variation.Total), mark+boundText(d.Variation.Hull),
			fmt.Sprintf("%d..%d", w.First, w.First+w.Length-1), show.Short(w.Regret))
	}
	return g.Write(a.Stdout)
}

// writeMovingSummaries prints the dynamics of every learner, if they were measured.
func writeMovingSummaries(a *command.App, summaries []play.Summary) error {
	if summaries[0].Dynamic == nil {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	g := show.Table{}
	g.Add("learner", "runs", "mean dynamic regret", "error", "mean bound", "floor", "mean variation", "on hull",
		"mean worst interval", "error")
	for _, s := range summaries {
		d := s.Dynamic
		g.Add(s.Learner, strconv.Itoa(s.Runs), show.Short(d.Regret.Mean), errorText(d.Regret.StandardError),
			boundText(d.Bound.Mean), boundText(d.Floor), boundText(d.Variation.Mean), boundText(d.Hull.Mean),
			show.Short(d.Interval.Mean), errorText(d.Interval.StandardError))
	}
	return g.Write(a.Stdout)
}
