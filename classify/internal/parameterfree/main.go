// Command parameterfree compares training without a learning rate with the default step size and
// with a search for it, on the sets of two classes in a directory of data, and prints the tables of
// docs/parameterfree.md:
//
//	go run ./classify/internal/parameterfree
//	go run ./classify/internal/parameterfree --sets a9a,w8a --trainers sgd-hinge --seeds 3
//
// Sets that are not there are left out, with a note.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "parameterfree:", err)
		os.Exit(1)
	}
}

// run measures what the arguments say and writes the tables to out, notes to notes.
func run(ctx context.Context, args []string, out, notes io.Writer) error {
	f := flag.NewFlagSet("parameterfree", flag.ContinueOnError)
	f.SetOutput(notes)
	dir := f.String("data", "../shared/data", "directory of the data sets")
	only := f.String("sets", "", "names of the sets, with commas; empty for all")
	chosen := f.String("trainers", "sgd-logistic,sgd-hinge,spade,stamp", "names of the trainers, with commas")
	seeds := f.Int("seeds", 3, "seeds of the split, the order of the examples and the held-out part, at least 2")
	passes := f.Int("passes", 10, "passes over the data, 0 for the default of the trainer")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *seeds < 2 || *passes < 0 {
		return fmt.Errorf("%d seeds and %d passes: want at least 2 and 0", *seeds, *passes)
	}
	temp, err := os.MkdirTemp("", "parameterfree")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left there is small
	m := measurement{seeds: *seeds, passes: *passes}
	var names []string
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	tables := map[string][]row{}
	for _, b := range sets {
		if names != nil && !slices.Contains(names, b.name) {
			continue
		}
		data, err := b.load(ctx, *dir, temp)
		if errors.Is(err, errMissing) {
			fmt.Fprintf(notes, "skipped: %v\n", err)
			continue
		}
		if err != nil {
			return err
		}
		for _, trainer := range strings.Split(*chosen, ",") {
			r, err := m.measure(ctx, b.name, trainer, data)
			if err != nil {
				return errors.Join(fmt.Errorf("%s by %s: %w", b.name, trainer, err), data.Set.Close())
			}
			tables[trainer] = append(tables[trainer], r)
			fmt.Fprintf(notes, "%s by %s\n", b.name, trainer)
		}
		if err := data.Set.Close(); err != nil {
			return err
		}
	}
	if len(tables) == 0 {
		fmt.Fprintf(out, "skipped: no data set is in %s\n", *dir)
		return nil
	}
	for _, trainer := range strings.Split(*chosen, ",") {
		writeTable(out, trainer, tables[trainer])
	}
	return nil
}
