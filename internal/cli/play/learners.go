package play

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// namesOptions are the flags of the commands that list names.
type namesOptions struct {
	command.Output
	list func(a *command.App, asJSON bool) error
}

// Run implements [command.Options].
func (o *namesOptions) Run(_ context.Context, a *command.App, _ []string) error {
	return o.list(a, o.JSON)
}

// newLearnersCommand makes "noregret learners".
func newLearnersCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "learners",
		Short: "List the learners that can play",
		Long: `List the learners of "noregret play": the order of the regret that their theorem
guarantees, what they must know before they begin, and the time of a round. With --json the output
is a list of {name, kind, games, bound, knows, cost, options, source}. games are the games that
the learner can play; kind is convex, experts or bandit. "restarted-" before the name of a convex
learner or of one of experts is its restarted form, with the options every and variation.

Package experts has two more players, which no game of "noregret play" fits: Specialists must be
told which experts are awake, and Mixture has whole learners for experts.`,
		Example: `  noregret learners
  noregret learners --json`,
		Args: cobra.NoArgs,
	}, &namesOptions{list: listLearners})
}

type optionJSON struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Help    string `json:"help"`
}

func listLearners(a *command.App, asJSON bool) error {
	infos, err := play.Learners()
	if err != nil {
		return err
	}
	type entry struct {
		Name    string       `json:"name"`
		Kind    string       `json:"kind"`
		Games   []string     `json:"games"`
		Bound   string       `json:"bound"`
		Knows   string       `json:"knows"`
		Cost    string       `json:"cost"`
		Options []optionJSON `json:"options"`
		Source  string       `json:"source"`
	}
	var list []entry
	g := show.Table{Left: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}}
	g.Add("learner", "kind", "bound", "knows", "cost of a round", "options")
	for _, i := range append(infos, play.Bandits()...) {
		e := entry{i.Name, i.Kind, i.Games, i.Bound, i.Knows, i.Cost, []optionJSON{}, i.Source}
		var names []string
		for _, o := range i.Options {
			e.Options = append(e.Options, optionJSON{o.Name, o.DefaultText(), o.Help})
			names = append(names, o.Name)
		}
		list = append(list, e)
		g.Add(i.Name, i.Kind, i.Bound, i.Knows, i.Cost, strings.Join(names, " "))
	}
	if asJSON {
		return show.JSON(a.Stdout, list)
	}
	return g.Write(a.Stdout)
}

// newGamesCommand makes "noregret games".
func newGamesCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "games",
		Short: "List the games that learners can play",
		Long: `List the games of "noregret play" with their options: ordinary games first, then the adversaries
of the theory's lower bounds, then the games of bandit algorithms. With --json the output is a
list of {name, kind, help, dim, options}.`,
		Example: "  noregret games",
		Args:    cobra.NoArgs,
	}, &namesOptions{list: listGames})
}

func listGames(a *command.App, asJSON bool) error {
	type entry struct {
		Name    string       `json:"name"`
		Kind    string       `json:"kind"`
		Help    string       `json:"help"`
		Dim     int          `json:"dim"`
		Options []optionJSON `json:"options"`
	}
	var list []entry
	g := show.Table{Left: map[int]bool{2: true, 3: true}}
	g.Add("game", "dim", "what it is", "options")
	for _, e := range regret.Games() {
		out := entry{e.Name, e.Kind, e.Help, e.Dim, []optionJSON{}}
		var options []string
		for _, o := range e.Options {
			value := strconv.FormatFloat(o.Default, 'g', -1, 64)
			out.Options = append(out.Options, optionJSON{o.Name, value, o.Help})
			options = append(options, fmt.Sprintf("%s=%s", o.Name, value))
		}
		list = append(list, out)
		g.Add(e.Name, strconv.Itoa(e.Dim), e.Help, strings.Join(options, " "))
	}
	for _, e := range play.BanditGames() {
		out := entry{e.Name, "bandit", e.Help, e.Arms, []optionJSON{}}
		var options []string
		for _, o := range e.Options {
			value := strconv.FormatFloat(o.Default, 'g', -1, 64)
			out.Options = append(out.Options, optionJSON{o.Name, value, o.Help})
			options = append(options, fmt.Sprintf("%s=%s", o.Name, value))
		}
		dim := "-"
		if e.Arms > 0 {
			dim = strconv.Itoa(e.Arms)
		}
		list = append(list, out)
		g.Add(e.Name, dim, e.Help, strings.Join(options, " "))
	}
	if asJSON {
		return show.JSON(a.Stdout, list)
	}
	return g.Write(a.Stdout)
}
