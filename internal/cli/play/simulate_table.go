package play

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/pasto/scenario"
)

// writeSimulations prints the tables.
func writeSimulations(a *command.App, all []simulation) error {
	for i, s := range all {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		last := len(s.At) - 1
		fmt.Fprintf(a.Stdout, "scenario %s, %s, %s of %s%s, means: %s\nbest single arm %s, optimum over mixtures %s\n",
			s.Scenario, s.Algorithm, show.Count(s.Runs, "run", "runs"), show.Count(s.Rounds, "round", "rounds"),
			played(s.Result),
			s.Data,
			orNone(s.Result, float64(s.BestSingle), s.Single.Runs[last]),
			orNone(s.Result, float64(s.Optimum), s.Best.Runs[last]))
		writeMarks(a, s.Result)
		g := show.Table{}
		g.Add("round", "objective", "q25", "q75", "gain", "median", "served", "violation", "broken", "to optimum")
		objective, violation := inUnitsOf(s.Objective.Q25, s.Objective.Q75, s.Single.Mean, s.Best.Mean),
			inUnitsOf(s.Violation.Mean)
		for j, t := range s.At {
			g.Add(strconv.Itoa(t), objective(s.Objective.Mean[j]), objective(s.Objective.Q25[j]),
				objective(s.Objective.Q75[j]),
				show.Number(s.Gain.Ratio[j]).String(), show.Number(s.Gain.Median[j]).String(),
				show.Number(s.Serving.Gain.Ratio[j]).String(), violation(s.Violation.Mean[j]),
				show.Number(s.Violation.Share[j]).String(), objective(s.Distance.Mean[j]))
		}
		if err := g.Write(a.Stdout); err != nil {
			return err
		}
		if err := writeRanking(a, s.Table); err != nil {
			return err
		}
		if err := writeReplay(a, s.Replay); err != nil {
			return err
		}
	}
	return nil
}

// played describes the simulation apart from its scenario and algorithm.
func played(r *scenario.Result) string {
	text := ""
	if r.Noise > 0 {
		text += ", noise " + show.Short(r.Noise)
	}
	if r.Hard {
		text += ", hard guardrails"
	}
	if r.Threshold != nil {
		text += ", threshold " + show.Short(*r.Threshold)
	}
	if r.Start > 0 {
		text += ", start " + show.Short(r.Start)
	}
	if r.Iterate == "serving" {
		text += ", what is served"
	}
	return text
}

// orNone writes a mean over the runs that hold the guardrails, and their number.
func orNone(r *scenario.Result, v float64, runs int) string {
	switch {
	case runs == 0:
		return "- (none holds the guardrails)"
	case runs < r.Runs:
		return fmt.Sprintf("%s (in %s: none holds the guardrails in the others)", show.Short(v), show.Count(runs,
			"run", "runs"))
	}
	return show.Short(v)
}

// writeMarks prints when the mean objective passes the marks for good, and the guardrails that no
// mixture can hold.
func writeMarks(a *command.App, r *scenario.Result) {
	held := ""
	if r.Hard {
		held = ", guardrails broken in at most 5 % of the runs,"
	}
	for _, m := range []struct {
		round int
		what  string
	}{{r.Crossing.Single, "above the best single arm"}, {r.Crossing.Optimum, "at a gain of 0.95 or more"}} {
		if m.round > 0 {
			fmt.Fprintf(a.Stdout, "mean %s%s from round %d on (of those reported)\n", m.what, held, m.round)
		}
	}
	x := r.Infeasible
	if x.Runs > 0 {
		var parts []string
		for i, name := range x.Metrics {
			parts = append(parts, fmt.Sprintf("%q by %s", name, show.Short(x.By[i])))
		}
		fmt.Fprintf(a.Stdout, "infeasible in %s: no mixture holds the guardrails under the true means; the least "+
			"total violation is %s (%s)\n",
			show.Count(x.Runs, "run", "runs"), show.Short(x.Violation), strings.Join(parts, ", "))
	}
	if x.Runs > 0 || x.Sure > 0 {
		fmt.Fprintf(a.Stdout, "the learner reports by its estimates that none holds them in %s, and is sure in %d\n",
			show.Count(x.Reported, "run", "runs"), x.Sure)
	}
	fmt.Fprintln(a.Stdout)
}

// writeRanking prints the table of solutions on ratings.
func writeRanking(a *command.App, t *scenario.Table2) error {
	if t == nil {
		return nil
	}
	fmt.Fprintf(a.Stdout, "\n%d users, %d items (%s); guardrail: genre recall at least %s\n", t.Users, t.Items, t.Data,
		show.Number(t.Threshold))
	learned := "-"
	if t.Learned == t.Learned {
		learned = fmt.Sprintf("%+.2f", t.Learned)
	}
	fmt.Fprintf(a.Stdout, "mixture over single best, in percent of recall: exact %+.2f [%.2f, %.2f], learned %s\n\n",
		t.Gain.Estimate, t.Gain.Low, t.Gain.High, learned)
	g := show.Table{}
	g.Add("solution", "recall", "genre recall", "holds", "arms", "to optimum")
	for _, r := range t.Rows {
		g.Add(r.Name, show.Number(r.Recall).String(), show.Number(r.Genre).String(), yes(r.Holds),
			strconv.Itoa(len(r.Arms)),
			show.Number(r.Distance).String())
	}
	return g.Write(a.Stdout)
}

// writeReplay prints the replay of a randomized test.
func writeReplay(a *command.App, r *scenario.ReplayResult) error {
	if r == nil {
		return nil
	}
	fmt.Fprintf(a.Stdout, "\nreplay (%s data): %d of %d logged customers accepted in %s; values on %d others, 95 %% "+
		"intervals\n",
		r.Data, r.Accepted, r.Logged, show.Count(r.Rounds, "round", "rounds"), r.HeldOut)
	fmt.Fprintf(a.Stdout, "guardrails, fixed on the logged customers: %s at least %s, %s at most %s\n\n",
		r.Metrics[1], show.Number(r.Thresholds[1]), r.Metrics[3], show.Short(r.Thresholds[3]))
	g := show.Table{Left: map[int]bool{1: true}}
	head := append([]string{"policy", strings.Join(r.Arms, " / ")}, r.Metrics...)
	g.Add(append(head, "objective", "lead of the learned", "holds")...)
	for _, p := range r.Policies {
		var shares []string
		for _, v := range p.Share {
			shares = append(shares, strconv.FormatFloat(v, 'f', 2, 64))
		}
		row := []string{p.Name, strings.Join(shares, " / ")}
		for _, m := range p.Means {
			row = append(row, between(m))
		}
		g.Add(append(row, between(p.Objective), between(p.Lead), yes(p.Holds))...)
	}
	return g.Write(a.Stdout)
}

// between writes an estimate with its interval.
func between(i scenario.Interval) string {
	return fmt.Sprintf("%.3f [%.3f, %.3f]", i.Estimate, i.Low, i.High)
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// inUnitsOf returns a function that writes numbers of the size of those given: with four decimals
// if these can show them, else with four significant digits.
func inUnitsOf(of ...scenario.Series) func(float64) string {
	top := 0.0
	for _, s := range of {
		for _, v := range s {
			if v-v == 0 {
				top = max(top, math.Abs(v))
			}
		}
	}
	if top == 0 || top >= 0.001 && top < 1e7 {
		return func(v float64) string { return show.Number(v).String() }
	}
	return func(v float64) string {
		if v-v != 0 {
			return "-"
		}
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}
