// Command ablation switches off the special rules of the default learner, one at a time, on named
// scenarios, and prints what each loses by that: the table of docs/pasto.md. Runs are paired: with
// and without a rule the learner sees the same random numbers.
//
//	go run ./pasto/scenario/internal/ablation -runs 100
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/noregret/noregret/pasto/confident"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := ablate(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "ablation:", err)
		os.Exit(1)
	}
}

// ablate plays the scenarios that the arguments name and writes the table to w.
func ablate(ctx context.Context, args []string, w io.Writer) error {
	f := flag.NewFlagSet("ablation", flag.ContinueOnError)
	runs := f.Int("runs", 100, "runs of each scenario")
	seed := f.Uint64("seed", 1, "seed")
	rules := f.String("rules", strings.Join(confident.Rules(), ","), "rules to switch off")
	only := f.String("scenarios", "", "names of scenarios, all if empty")
	workers := f.Int("workers", 1, "runs at a time")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *runs < 2 || *workers < 1 {
		return fmt.Errorf("%d runs, %d workers: want at least 2 and 1", *runs, *workers)
	}
	list := strings.Split(*rules, ",")
	for _, rule := range list {
		if _, err := confident.DefaultOptions().Without(rule); err != nil {
			return err
		}
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| scenario | score | %s |\n| --- | --- |%s\n", strings.Join(list, " | "),
		strings.Repeat(" --- |", len(list)))
	worst := make([]string, len(list))
	most := make([]float64, len(list))
	for _, s := range chosen {
		base, err := scores(ctx, s, "", *runs, *seed, *workers)
		if err != nil {
			return err
		}
		m, se := meanOf(base)
		fmt.Fprintf(w, "| %s | %.4f ± %.4f |", s.name, m, se)
		for i, rule := range list {
			without, err := scores(ctx, s, rule, *runs, *seed, *workers)
			if err != nil {
				return err
			}
			for n := range without {
				without[n] = base[n] - without[n]
			}
			loss, se := meanOf(without)
			fmt.Fprintf(w, " %.4f ± %.4f |", loss, se)
			if z := loss / se; se > 0 && z > most[i] {
				most[i], worst[i] = z, s.name
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| verdict | |")
	for i := range list {
		verdict := "goes"
		if most[i] > 3 {
			verdict = fmt.Sprintf("stays: %s, %.1f errors", worst[i], most[i])
		} else if worst[i] != "" {
			verdict = fmt.Sprintf("goes: at most %.1f errors", most[i])
		}
		fmt.Fprintf(w, " %s |", verdict)
	}
	_, err = fmt.Fprintln(w)
	return err
}

// choose returns the scenarios of these names.
func choose(names string) ([]scene, error) {
	if names == "" {
		return scenes(), nil
	}
	var chosen []scene
	for _, name := range strings.Split(names, ",") {
		found := false
		for _, s := range scenes() {
			if s.name == name {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("scenario %q is unknown", name)
		}
	}
	return chosen, nil
}

// scores plays the runs of a scenario without a rule ("" for all rules).
func scores(ctx context.Context, s scene, rule string, runs int, seed uint64, workers int) ([]float64, error) {
	out, errs := make([]float64, runs), make([]error, runs)
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for n := range next {
				o := s.options()
				if rule != "" {
					if o, errs[n] = o.Without(rule); errs[n] != nil {
						continue
					}
				}
				out[n], errs[n] = s.play(o, seed+uint64(n))
			}
		})
	}
	for n := range runs {
		if ctx.Err() != nil {
			break
		}
		next <- n
	}
	close(next)
	wg.Wait()
	return out, errors.Join(ctx.Err(), errors.Join(errs...))
}

// meanOf returns the mean and its standard error.
func meanOf(v []float64) (mean, se float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	square := 0.0
	for _, x := range v {
		square += (x - mean) * (x - mean)
	}
	n := float64(len(v))
	return mean, math.Sqrt(square / n / (n - 1))
}
