package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/noregret/noregret/pasto/scenario"
)

// writeSimulations prints the tables.
func (a *app) writeSimulations(all []simulation) error {
	for i, s := range all {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		last := len(s.At) - 1
		fmt.Fprintf(a.stdout, "scenario %s, %s, %s of %s%s, means: %s\nbest single arm %s, optimum over mixtures %s\n",
			s.Scenario, s.Algorithm, count(s.Runs, "run", "runs"), count(s.Rounds, "round", "rounds"), played(s.Result),
			s.Data,
			orNone(s.Result, float64(s.BestSingle), s.Single.Runs[last]),
			orNone(s.Result, float64(s.Optimum), s.Best.Runs[last]))
		a.writeMarks(s.Result)
		g := table{}
		g.add("round", "objective", "q25", "q75", "gain", "median", "served", "violation", "broken", "to optimum")
		objective, violation := inUnitsOf(s.Objective.Q25, s.Objective.Q75, s.Single.Mean, s.Best.Mean),
			inUnitsOf(s.Violation.Mean)
		for j, t := range s.At {
			g.add(strconv.Itoa(t), objective(s.Objective.Mean[j]), objective(s.Objective.Q25[j]),
				objective(s.Objective.Q75[j]),
				number(s.Gain.Ratio[j]).String(), number(s.Gain.Median[j]).String(),
				number(s.Serving.Gain.Ratio[j]).String(), violation(s.Violation.Mean[j]),
				number(s.Violation.Share[j]).String(), objective(s.Distance.Mean[j]))
		}
		if err := g.write(a.stdout); err != nil {
			return err
		}
		if err := a.writeRanking(s.Table); err != nil {
			return err
		}
		if err := a.writeReplay(s.Replay); err != nil {
			return err
		}
	}
	return nil
}

// played describes the simulation apart from its scenario and algorithm.
func played(r *scenario.Result) string {
	text := ""
	if r.Noise > 0 {
		text += ", noise " + short(r.Noise)
	}
	if r.Hard {
		text += ", hard guardrails"
	}
	if r.Threshold != nil {
		text += ", threshold " + short(*r.Threshold)
	}
	if r.Start > 0 {
		text += ", start " + short(r.Start)
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
		return fmt.Sprintf("%s (in %s: none holds the guardrails in the others)", short(v), count(runs, "run", "runs"))
	}
	return short(v)
}

// writeMarks prints when the mean objective passes the marks for good, and the guardrails that no
// mixture can hold.
func (a *app) writeMarks(r *scenario.Result) {
	held := ""
	if r.Hard {
		held = ", guardrails broken in at most 5 % of the runs,"
	}
	for _, m := range []struct {
		round int
		what  string
	}{{r.Crossing.Single, "above the best single arm"}, {r.Crossing.Optimum, "at a gain of 0.95 or more"}} {
		if m.round > 0 {
			fmt.Fprintf(a.stdout, "mean %s%s from round %d on (of those reported)\n", m.what, held, m.round)
		}
	}
	x := r.Infeasible
	if x.Runs > 0 {
		var parts []string
		for i, name := range x.Metrics {
			parts = append(parts, fmt.Sprintf("%q by %s", name, short(x.By[i])))
		}
		fmt.Fprintf(a.stdout, "infeasible in %s: no mixture holds the guardrails under the true means; the least "+
			"total violation is %s (%s)\n",
			count(x.Runs, "run", "runs"), short(x.Violation), strings.Join(parts, ", "))
	}
	if x.Runs > 0 || x.Sure > 0 {
		fmt.Fprintf(a.stdout, "the learner reports by its estimates that none holds them in %s, and is sure in %d\n",
			count(x.Reported, "run", "runs"), x.Sure)
	}
	fmt.Fprintln(a.stdout)
}

// writeRanking prints the table of solutions on ratings.
func (a *app) writeRanking(t *scenario.Table2) error {
	if t == nil {
		return nil
	}
	fmt.Fprintf(a.stdout, "\n%d users, %d items (%s); guardrail: genre recall at least %s\n", t.Users, t.Items, t.Data,
		number(t.Threshold))
	learned := "-"
	if t.Learned == t.Learned {
		learned = fmt.Sprintf("%+.2f", t.Learned)
	}
	fmt.Fprintf(a.stdout, "mixture over single best, in percent of recall: exact %+.2f [%.2f, %.2f], learned %s\n\n",
		t.Gain.Estimate, t.Gain.Low, t.Gain.High, learned)
	g := table{}
	g.add("solution", "recall", "genre recall", "holds", "arms", "to optimum")
	for _, r := range t.Rows {
		g.add(r.Name, number(r.Recall).String(), number(r.Genre).String(), yes(r.Holds), strconv.Itoa(len(r.Arms)),
			number(r.Distance).String())
	}
	return g.write(a.stdout)
}

// writeReplay prints the replay of a randomized test.
func (a *app) writeReplay(r *scenario.ReplayResult) error {
	if r == nil {
		return nil
	}
	fmt.Fprintf(a.stdout, "\nreplay (%s data): %d of %d logged customers accepted in %s; values on %d others, 95 %% "+
		"intervals\n",
		r.Data, r.Accepted, r.Logged, count(r.Rounds, "round", "rounds"), r.HeldOut)
	fmt.Fprintf(a.stdout, "guardrails, fixed on the logged customers: %s at least %s, %s at most %s\n\n",
		r.Metrics[1], number(r.Thresholds[1]), r.Metrics[3], short(r.Thresholds[3]))
	g := table{left: map[int]bool{1: true}}
	head := append([]string{"policy", strings.Join(r.Arms, " / ")}, r.Metrics...)
	g.add(append(head, "objective", "lead of the learned", "holds")...)
	for _, p := range r.Policies {
		var shares []string
		for _, v := range p.Share {
			shares = append(shares, strconv.FormatFloat(v, 'f', 2, 64))
		}
		row := []string{p.Name, strings.Join(shares, " / ")}
		for _, m := range p.Means {
			row = append(row, between(m))
		}
		g.add(append(row, between(p.Objective), between(p.Lead), yes(p.Holds))...)
	}
	return g.write(a.stdout)
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
