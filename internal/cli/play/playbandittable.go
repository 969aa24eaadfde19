package play

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// banditResult is one entry of the list that --json prints for a bandit game.
type banditResult struct {
	Learner        string        `json:"learner"`
	Game           string        `json:"game"`
	Means          []float64     `json:"means,omitempty"`
	Rounds         int           `json:"rounds"`
	MeanRounds     show.Number   `json:"mean_rounds"`
	Runs           int           `json:"runs"`
	Seed           uint64        `json:"seed"`
	LearnerLoss    show.Number   `json:"learner_loss"`
	ComparatorLoss show.Number   `json:"comparator_loss"`
	Regret         show.Number   `json:"regret"`
	RegretError    show.Number   `json:"regret_error"`
	Realized       show.Number   `json:"realized_regret"`
	RealizedError  show.Number   `json:"realized_regret_error"`
	Bound          show.Number   `json:"bound"`
	LowerBound     show.Number   `json:"lower_bound"`
	Ratio          show.Number   `json:"ratio"`
	Noisy          bool          `json:"noisy"` // always: the bound is one of the expected regret
	Holds          *bool         `json:"holds"`
	Pulls          []banditPulls `json:"pulls"`
	Curve          []banditPoint `json:"curve"`
}

type banditPulls struct {
	Mean  show.Number `json:"mean"`
	Error show.Number `json:"error"`
}

type banditPoint struct {
	Round  int         `json:"round"`
	Regret show.Number `json:"regret"`
	Error  show.Number `json:"error"`
	Low    show.Number `json:"low"`
	High   show.Number `json:"high"`
	Bound  show.Number `json:"bound"`
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
			Learner: r.Learner, Game: r.Game, Means: r.Means, Rounds: r.Rounds, MeanRounds: show.Number(r.Length.Mean),
			Runs: r.Runs, Seed: r.Seed, LearnerLoss: show.Number(r.Loss.Mean),
			ComparatorLoss: show.Number(r.Loss.Mean - r.Realized.Mean), Regret: show.Number(v.Mean),
			RegretError: show.Number(v.StandardError), Realized: show.Number(r.Realized.Mean),
			RealizedError: show.Number(r.Realized.StandardError), Bound: show.Number(r.Bound),
			LowerBound: show.Number(r.LowerBound),
			Ratio:      show.Number(r.Ratio()), Noisy: true, Holds: ifKnown(r.Holds()),
			Pulls: []banditPulls{}, Curve: []banditPoint{},
		}
		for _, n := range r.Pulls {
			out.Pulls = append(out.Pulls, banditPulls{show.Number(n.Mean), show.Number(n.StandardError)})
		}
		for _, q := range r.Curve {
			low, high := band(q.Regret)
			out.Curve = append(out.Curve, banditPoint{
				q.Round, show.Number(q.Regret.Mean), show.Number(q.Regret.StandardError), show.Number(low),
				show.Number(high),
				show.Number(q.Theory),
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
			means = append(means, show.Short(m))
		}
		title += ", means " + strings.Join(means, " ")
	}
	rounds := show.Count(r.Rounds, "round", "rounds")
	if r.Length.Mean < float64(r.Rounds) {
		rounds = "on average " + show.Whole(math.Round(r.Length.Mean)) + " rounds"
	}
	return title + ", " + rounds + ", " + show.Count(r.Runs, "run", "runs")
}

// writeBandits prints a row for every algorithm.
func writeBandits(a *command.App, results []play.BanditResult) error {
	first := &results[0]
	fmt.Fprintf(a.Stdout, "%s\n\n", banditTitle(first))
	g := show.Table{}
	if math.IsNaN(first.Pseudo.Mean) { // the columns are for means
		g.Without = map[int]bool{3: true, 4: true, 8: true, 9: true}
	}
	g.Add("learner", "regret", "error", "realized", "error", "loss", "bound", "used", "lower", "best arm")
	for i := range results {
		r := &results[i]
		v := r.Regret()
		g.Add(r.Learner, show.Short(v.Mean), errorText(v.StandardError), show.Short(r.Realized.Mean),
			errorText(r.Realized.StandardError), show.Short(r.Loss.Mean), boundText(r.Bound), shareText(r.Ratio()),
			boundText(r.LowerBound), bestArmText(r))
	}
	return g.Write(a.Stdout)
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
