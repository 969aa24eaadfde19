package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// banditResult is one entry of the list that --json prints for a bandit game.
type banditResult struct {
	Learner        string        `json:"learner"`
	Game           string        `json:"game"`
	Means          []float64     `json:"means,omitempty"`
	Rounds         int           `json:"rounds"`
	MeanRounds     number        `json:"mean_rounds"`
	Runs           int           `json:"runs"`
	Seed           uint64        `json:"seed"`
	LearnerLoss    number        `json:"learner_loss"`
	ComparatorLoss number        `json:"comparator_loss"`
	Regret         number        `json:"regret"`
	RegretError    number        `json:"regret_error"`
	Realized       number        `json:"realized_regret"`
	RealizedError  number        `json:"realized_regret_error"`
	Bound          number        `json:"bound"`
	LowerBound     number        `json:"lower_bound"`
	Ratio          number        `json:"ratio"`
	Noisy          bool          `json:"noisy"` // always: the bound is one of the expected regret
	Holds          *bool         `json:"holds"`
	Pulls          []banditPulls `json:"pulls"`
	Curve          []banditPoint `json:"curve"`
}

type banditPulls struct {
	Mean  number `json:"mean"`
	Error number `json:"error"`
}

type banditPoint struct {
	Round  int    `json:"round"`
	Regret number `json:"regret"`
	Error  number `json:"error"`
	Low    number `json:"low"`
	High   number `json:"high"`
	Bound  number `json:"bound"`
}

// normal95 is the quantile of the normal distribution for a band of 95 %.
const normal95 = 1.959963984540054

// band returns the ends of the 95 % band of a mean.
func band(e regret.MeanError) (low, high float64) {
	half := float64(normal95 * e.StandardError)
	return e.Mean - half, e.Mean + half
}

// banditJSON is the list that --json prints.
func banditJSON(results []play.BanditResult) []banditResult {
	list := []banditResult{}
	for i := range results {
		r := &results[i]
		v := r.Regret()
		out := banditResult{
			Learner: r.Learner, Game: r.Game, Means: r.Means, Rounds: r.Rounds, MeanRounds: number(r.Length.Mean),
			Runs: r.Runs, Seed: r.Seed, LearnerLoss: number(r.Loss.Mean),
			ComparatorLoss: number(r.Loss.Mean - r.Realized.Mean), Regret: number(v.Mean),
			RegretError: number(v.StandardError), Realized: number(r.Realized.Mean),
			RealizedError: number(r.Realized.StandardError), Bound: number(r.Bound), LowerBound: number(r.LowerBound),
			Ratio: number(r.Ratio()), Noisy: true, Holds: ifKnown(r.Holds()),
			Pulls: []banditPulls{}, Curve: []banditPoint{},
		}
		for _, n := range r.Pulls {
			out.Pulls = append(out.Pulls, banditPulls{number(n.Mean), number(n.StandardError)})
		}
		for _, q := range r.Curve {
			low, high := band(q.Regret)
			out.Curve = append(out.Curve, banditPoint{
				q.Round, number(q.Regret.Mean), number(q.Regret.StandardError), number(low), number(high),
				number(q.Theory),
			})
		}
		list = append(list, out)
	}
	return list
}

// banditTitle describes the game and its runs.
func banditTitle(r *play.BanditResult) string {
	title := r.Game
	if r.Means != nil {
		var means []string
		for _, m := range r.Means {
			means = append(means, short(m))
		}
		title += ", means " + strings.Join(means, " ")
	}
	rounds := count(r.Rounds, "round", "rounds")
	if r.Length.Mean < float64(r.Rounds) {
		rounds = "on average " + whole(math.Round(r.Length.Mean)) + " rounds"
	}
	return title + ", " + rounds + ", " + count(r.Runs, "run", "runs")
}

// writeBandits prints a row for every algorithm.
func (a *app) writeBandits(results []play.BanditResult) error {
	first := &results[0]
	fmt.Fprintf(a.stdout, "%s\n\n", banditTitle(first))
	pseudo := !math.IsNaN(first.Pseudo.Mean)
	g := table{}
	head := []string{"learner", "regret", "error"}
	if pseudo {
		head = append(head, "realized", "error")
	}
	head = append(head, "loss", "bound", "used")
	if pseudo {
		head = append(head, "lower", "best arm")
	}
	g.add(head...)
	for i := range results {
		r := &results[i]
		v := r.Regret()
		row := []string{r.Learner, short(v.Mean), meanErrorText(v)}
		if pseudo {
			row = append(row, short(r.Realized.Mean), meanErrorText(r.Realized))
		}
		row = append(row, short(r.Loss.Mean), boundText(r.Bound), shareText(r.Ratio()))
		if pseudo {
			row = append(row, boundText(r.LowerBound), bestArmText(r))
		}
		g.add(row...)
	}
	return g.write(a.stdout)
}

// bestArmText is the share of pulls of the best arms.
func bestArmText(r *play.BanditResult) string {
	if r.Means == nil {
		return "-"
	}
	least, sum := slices.Min(r.Means), 0.0
	for i, n := range r.Pulls {
		if r.Means[i] == least {
			sum += n.Mean
		}
	}
	return shareText(sum / r.Length.Mean)
}

// meanErrorText formats a standard error with two digits.
func meanErrorText(e regret.MeanError) string {
	if v := e.StandardError; v-v == 0 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return "-"
}
