// Command run plays the arena and prints its tables:
//
//	go run ./pasto/arena/internal/run --runs 100
//	go run ./pasto/arena/internal/run --families week,drift --learners default,greedy-2-safe --json
//
// Results go to standard output, progress to standard error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/noregret/noregret/internal/progress"
	"github.com/noregret/noregret/pasto/arena"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "arena:", err)
		os.Exit(1)
	}
}

// run plays what the arguments say and writes the result to out.
func run(ctx context.Context, args []string, out, progressOut io.Writer) error {
	var o arena.Options
	f := flag.NewFlagSet("arena", flag.ContinueOnError)
	f.SetOutput(progressOut)
	families := f.String("families", "", "names of the families to play, with commas; empty for all")
	learners := f.String("learners", "", "names of the learners, with commas; empty for all")
	asJSON := f.Bool("json", false, "write JSON instead of text")
	list := f.Bool("list", false, "list families and learners, and play nothing")
	drifting := f.Bool("drift", false, "play the families and the learners for means that change")
	f.IntVar(&o.Runs, "runs", 100, "runs of each family, at least 2")
	f.Uint64Var(&o.Seed, "seed", 1, "seed")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: want flags only", f.Arg(0))
	}
	if *list {
		return writeList(out)
	}
	o.Families, o.Learners = names(*families), names(*learners)
	if *drifting {
		useDrift(&o)
	}
	reporter, err := progress.New(progressOut, progress.Options{Mode: progress.Auto, Unit: "runs"})
	if err != nil {
		return err
	}
	reporter.Start("arena", 0)
	o.Progress = func(done, _ int) { reporter.Update(int64(done)) }
	r, err := arena.Run(ctx, o)
	reporter.Finish()
	if err != nil {
		return err
	}
	if !*asJSON {
		return r.WriteText(out)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// names splits a list; an empty one is nil.
func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// useDrift replaces the families and the learners that are not named by those for drift.
func useDrift(o *arena.Options) {
	if o.Families == nil {
		for _, x := range arena.DriftFamilies() {
			o.Families = append(o.Families, x.Name)
		}
	}
	for _, e := range arena.DriftLearners() {
		if o.Learners == nil || slices.Contains(o.Learners, e.Name) {
			o.Entries = append(o.Entries, e)
		}
	}
}

func writeList(w io.Writer) error {
	b := &strings.Builder{}
	for _, f := range slices.Concat(arena.Families(), arena.DriftFamilies()) {
		fmt.Fprintf(b, "family %s: %s\n", f.Name, f.About)
	}
	for _, e := range arena.Learners() {
		fmt.Fprintf(b, "learner %s: %s\n", e.Name, e.About)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
