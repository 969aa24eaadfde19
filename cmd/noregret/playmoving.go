package main

import (
	"fmt"
	"strconv"

	"github.com/noregret/noregret/play"
)

// playMoving is the key dynamic of an entry of the list that --json prints.
type playMoving struct {
	Regret         number         `json:"regret"`
	ComparatorLoss number         `json:"comparator_loss"`
	Gap            number         `json:"gap"`
	Variation      number         `json:"variation"`
	Hull           number         `json:"hull_variation"`
	Exact          bool           `json:"variation_exact"`
	Path           number         `json:"path"`
	Bound          number         `json:"bound"`
	Floor          number         `json:"floor"`
	Intervals      []playInterval `json:"intervals"`
}

type playInterval struct {
	Length int    `json:"length"`
	First  int    `json:"first"`
	Regret number `json:"regret"`
	Gap    number `json:"gap"`
}

// playMovingSummary is the key dynamic of an entry of the list that --summary --json prints.
type playMovingSummary struct {
	MeanRegret    number `json:"mean_regret"`
	RegretError   number `json:"regret_error"`
	MeanBound     number `json:"mean_bound"`
	MeanInterval  number `json:"mean_worst_interval"`
	IntervalError number `json:"worst_interval_error"`
	MeanVariation number `json:"mean_variation"`
	MeanHull      number `json:"mean_hull_variation"`
	Floor         number `json:"floor"`
}

func movingJSON(r play.Result) *playMoving {
	d := r.Dynamic
	if d == nil {
		return nil
	}
	m := &playMoving{
		Regret: number(d.Regret), ComparatorLoss: number(d.ComparatorLoss), Gap: number(d.Gap),
		Variation: number(d.Variation.Total), Hull: number(d.Variation.Hull), Exact: d.Variation.Exact,
		Path: number(d.Variation.Path), Bound: number(d.Bound), Floor: number(r.DynamicFloor),
		Intervals: []playInterval{},
	}
	for _, v := range d.Intervals {
		m.Intervals = append(m.Intervals, playInterval{v.Length, v.First, number(v.Regret), number(v.Gap)})
	}
	return m
}

func movingSummaryJSON(s *play.DynamicSummary) *playMovingSummary {
	if s == nil {
		return nil
	}
	return &playMovingSummary{
		MeanRegret: number(s.Regret.Mean), RegretError: number(s.Regret.StandardError),
		MeanBound: number(s.Bound.Mean), MeanInterval: number(s.Interval.Mean),
		IntervalError: number(s.Interval.StandardError), MeanVariation: number(s.Variation.Mean),
		MeanHull: number(s.Hull.Mean), Floor: number(s.Floor),
	}
}

// writeMovingRuns prints the dynamics of every certificate, if they were measured.
func (a *app) writeMovingRuns(results []play.Result) error {
	if results[0].Dynamic == nil {
		return nil
	}
	fmt.Fprintln(a.stdout)
	g := table{}
	g.add("learner", "seed", "best sequence", "dynamic regret", "bound", "floor", "variation", "on hull",
		"worst interval",
		"its regret")
	for _, r := range results {
		d, w := r.Dynamic, r.Dynamic.Worst()
		mark := ""
		if !d.Variation.Exact {
			mark = "~"
		}
		g.add(r.Learner, strconv.FormatUint(r.Seed, 10), short(d.ComparatorLoss), short(d.Regret), boundText(d.Bound),
			boundText(r.DynamicFloor), mark+boundText(d.Variation.Total), mark+boundText(d.Variation.Hull),
			fmt.Sprintf("%d..%d", w.First, w.First+w.Length-1), short(w.Regret))
	}
	return g.write(a.stdout)
}

// writeMovingSummaries prints the dynamics of every learner, if they were measured.
func (a *app) writeMovingSummaries(summaries []play.Summary) error {
	if summaries[0].Dynamic == nil {
		return nil
	}
	fmt.Fprintln(a.stdout)
	g := table{}
	g.add("learner", "runs", "mean dynamic regret", "error", "mean bound", "floor", "mean variation", "on hull",
		"mean worst interval", "error")
	for _, s := range summaries {
		d := s.Dynamic
		g.add(s.Learner, strconv.Itoa(s.Runs), short(d.Regret.Mean), errorText(d.Regret), boundText(d.Bound.Mean),
			boundText(d.Floor), boundText(d.Variation.Mean), boundText(d.Hull.Mean), short(d.Interval.Mean),
			errorText(d.Interval))
	}
	return g.write(a.stdout)
}
