package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

const trainPrivate = "train --private --epsilon 1 --delta 1e-5 --horizon 10 --labels -1,1 --dim 2 --model m.json "

// Every flag of train is in exactly one list: those of a private training, those that it shares,
// and those that it refuses, whose errors name the flag and the reason. A new flag must be decided.
func TestPrivateFlagsAreDecided(t *testing.T) {
	flags := newTrainCommand(&command.App{}, newPrivateFiles()).Flags()
	seen := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		seen[f.Name] = true
		lists := 0
		reason, refused := refusedPrivately[f.Name]
		for _, in := range []bool{refused, sharedPrivately[f.Name], privateFlagNames[f.Name]} {
			if in {
				lists++
			}
		}
		if lists != 1 {
			t.Errorf("--%s is in %d lists: decide whether train --private takes it", f.Name, lists)
		}
		if privateFlagNames[f.Name] && f.Name != "private" {
			cmds.Refused(t, clitest.Refusal{
				"train --measure f1 --model m.json --" + f.Name + "=" + sample(f) + " x", "--" + f.Name + ": needs " +
					"--private",
			})
		}
		if refused {
			if len(reason) < 15 {
				t.Errorf("--%s is refused for the reason %q", f.Name, reason)
			}
			cmds.Refused(t, clitest.Refusal{
				trainPrivate + "--" + f.Name + "=" + sample(f) + " x", "--" + f.Name + ": not with --private: " +
					"" + reason,
			})
		}
	})
	for name := range refusedPrivately {
		if !seen[name] {
			t.Errorf("--%s is refused, but train has no such flag", name)
		}
	}
}

// sample is a value that a flag takes.
func sample(f *pflag.Flag) string {
	switch {
	case f.Name == "rate":
		return "auto"
	case f.Name == "steps":
		return "sqrt"
	case f.Name == "calibration":
		return "platt"
	case f.Name == "threshold":
		return "tuned"
	case f.Name == "reward":
		return "logistic"
	case f.Name == "digest":
		return "none"
	case f.Name == "date-order":
		return "dmy"
	case f.Name == "decimal":
		return "."
	case f.Name == "class-weight":
		return "balanced"
	case f.Name == "drift":
		return "adaptive"
	case f.Value.Type() == "bool":
		return "true"
	}
	return "1"
}

func TestTrainPrivateRefuses(t *testing.T) {
	cmds.Refused(
		t,
		clitest.Refusal{"train --private --model m.json x", "--epsilon: required with --private"},
		clitest.Refusal{"train --private --epsilon 1 --model m.json x", "--delta: required with --private"},
		clitest.Refusal{"train --private --epsilon 1 --delta 0 --model m.json x", "--horizon: required with --private"},
		clitest.Refusal{trainPrivate + "--labels 1 x", "--labels: 3 labels, want the negative and the positive one"},
		clitest.Refusal{trainPrivate + "--epsilon 0 x", "--epsilon: 0, want a finite number above 0"},
		clitest.Refusal{trainPrivate + "--norm 0.5 x", "--norm: 0.5 is out of range, want a number from 1 on, or inf"},
		clitest.Refusal{trainPrivate + "--dim 0 x", "--dim: required with --private for svmlight, at least 1"},
		clitest.Refusal{trainPrivate + "--bits 3 x", "--dim: not with --bits"},
		clitest.Refusal{trainPrivate + "--format csv x", "--columns: required with --private for CSV"},
		clitest.Refusal{trainPrivate + "--format csv --categorical a x", "--categorical: needs --bits with --private"},
		clitest.Refusal{trainPrivate + "--columns a x", "--label: required with --private for CSV"},
		clitest.Refusal{
			trainPrivate + "--columns a --label y --header no x",
			"--header: with --private a CSV file needs a " +
				"header",
		},
		clitest.Refusal{trainPrivate + "--columns a --label y --missing indicator x", "--missing: not indicator with " +
			"--private"},
		clitest.Refusal{trainPrivate + "--columns a=3:2 --label y x", `--columns: "a=3:2": want a range LOW:HIGH`},
		clitest.Refusal{trainPrivate + "--columns a,a --label y x", `--columns: "a": want names that are not empty and differ`},
		clitest.Refusal{trainPrivate + "--columns a=1:2 --label y --bits 4 x", "--columns: no ranges with --bits"},
		clitest.Refusal{trainPrivate + "--format jsonl x", "--columns: with --private JSON lines need either"},
		clitest.Refusal{trainPrivate + "--format cache x", "--format: a cache holds a feature space that was learned"},
		clitest.Refusal{trainPrivate + "--format idx x", `--format: "idx": a private training reads`},
		clitest.Refusal{trainPrivate + "--noise laplace x", "--noise: laplace is not possible with norm 2"},
		clitest.Refusal{trainPrivate + "--save-every -1 x", "--save-every: -1 is out of range"},
		clitest.Refusal{trainPrivate + "--account= x", "--account: the name is empty"},
		clitest.Refusal{trainPrivate + "--batch 0 x", "--batch: 0 is out of range"},
		clitest.Refusal{trainPrivate + "--state same --ledger same x", `--state: "same" is the directory of --ledger too`},
	)
}

// privateFile writes svmlight text of n records and returns its directory.
func privateFile(t *testing.T, n int, row func(i int) string) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "in.svm"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Looking for other accounts changes nothing beside the data. What is no ledger is skipped with a
// note. A ledger that cannot be read may have spent anything: it is said, and --new-account asked
// for.
func TestPrivateLooksAtOtherLedgers(t *testing.T) {
	dir := privateFile(t, 12, someRow)
	t.Chdir(dir)
	notes := filepath.Join(dir, "notes.privacy")
	dead := filepath.Join(notes, ".epoch-00000000000000000002.tmp1-0")
	if err := errors.Join(os.Mkdir(notes, 0o700), os.Chmod(notes, 0o755),
		os.WriteFile(filepath.Join(notes, "todo.txt"), nil, 0o600), os.WriteFile(dead, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	unchanged := func() {
		t.Helper()
		st, err := os.Stat(notes)
		if _, err2 := os.Stat(dead); errors.Join(err, err2) != nil ||
			st.Mode().Perm() != 0o755 && runtime.GOOS != "windows" {
			t.Errorf("the other directory has changed: %v, %v, %v", st.Mode(), err, err2)
		}
	}
	args := append(strings.Fields(trainPrivate), "--progress", "quiet", "in.svm")
	bad := filepath.Join(notes, "epoch-00000000000000000001")
	if err := os.WriteFile(bad, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := cmds.Try(t.Context(), args...)
	if status != 2 || !strings.Contains(stderr, "notes.privacy, which cannot be read (") ||
		!strings.Contains(stderr, "its spending is unknown") || !strings.Contains(stderr, "give --new-account") {
		t.Errorf("beside a damaged ledger: status %d, %s", status, stderr)
	}
	unchanged()
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	status, _, stderr = cmds.Try(t.Context(), args...)
	if status != 0 || !strings.Contains(stderr, "notes.privacy is no ledger") {
		t.Errorf("beside other files: status %d, %s", status, stderr)
	}
	unchanged()
}

func someRow(i int) string { return fmt.Sprintf("%s 1:%d 2:0.5", []string{"-1", "1"}[i%2], i%3) }

// Nothing that the command prints depends on the data, except what follows from the model: it is
// the same for data of one class, with other labels, with features out of the space, and with lines
// that cannot be read.
func TestTrainPrivatePrintsNothingElse(t *testing.T) {
	released := regexp.MustCompile(`intercept"?:? \S+|not zero`)
	for _, json := range []string{"--json=false", "--json"} {
		var first string
		for i, row := range []func(i int) string{
			someRow,
			func(int) string { return "1 1:3" },
			func(i int) string { return fmt.Sprintf("x%d 1:3 7:1e9", i) },
			func(i int) string { return []string{"1 1:nan", "1 1:3 1:4", "nan", "", "?", "1:x", "# hi"}[i%7] },
		} {
			t.Chdir(privateFile(t, 12, row))
			args := append(strings.Fields(trainPrivate), "--insecure-noise-seed-for-testing", "3", "--save-every", "4",
				json, "--progress", "quiet", "in.svm")
			status, stdout, stderr := cmds.Try(context.Background(), args...)
			if status != 0 || !strings.Contains(stderr, "noise from a seed") {
				t.Fatalf("status %d, %s", status, stderr)
			}
			all := released.ReplaceAllString(stdout+stderr, "*")
			if i > 0 && all != first {
				t.Errorf("data set %d:\n%s\nthe first:\n%s", i, all, first)
			}
			first = all
		}
	}
}

// What needs probabilities is refused for a private model without advice that --private refuses.
func TestPredictPrivate(t *testing.T) {
	t.Chdir(privateFile(t, 12, someRow))
	cmds.Printed(t, append(strings.Fields(trainPrivate), "--insecure-noise-seed-for-testing", "3", "in.svm")...)
	for _, flag := range []string{"--at-recall=.8", "--at-precision=.8", "--proba", "--costs=fn=10,fp=1"} {
		status, _, stderr := cmds.Try(t.Context(), "predict", "--model", "m.json", flag, "in.svm")
		name, _, _ := strings.Cut(flag, "=")
		want := name + ": a private model has no probabilities"
		if status != 2 || !strings.Contains(stderr, want) || strings.Contains(stderr, "--calibration") {
			t.Errorf("%s: status %d, %s", flag, status, stderr)
		}
	}
	cmds.Printed(t, "predict", "--model", "m.json", "--top", "3", "in.svm")
}

const (
	mortal = "noregret-mortal" // the command that dies after some durable writes
	dieAt  = "NOREGRET_TEST_DIE_AT"
)

// mortalStatus is the command for a process that kills itself after the durable write whose number,
// from 1, the environment says.
func mortalStatus() int {
	if step, err := strconv.Atoi(os.Getenv(dieAtStep)); err == nil {
		return mortalSteps(step)
	}
	at, err := strconv.Atoi(os.Getenv(dieAt))
	if err != nil {
		return 4
	}
	writes := 0
	wrote := func(err error) error {
		if writes++; writes == at {
			killSelf()
		}
		return err
	}
	files := newPrivateFiles()
	return command.Main(on(privateFiles{
		open: func(dir string) (privateStore, error) {
			s, err := files.open(dir)
			return mortalStore{s, wrote}, err
		},
		write: func(path string, b []byte) error { return wrote(files.write(path, b)) },
	}))
}

type mortalStore struct {
	privateStore
	wrote func(error) error
}

func (m mortalStore) CompareAndSwap(epoch uint64, document []byte) error {
	return m.wrote(m.privateStore.CompareAndSwap(epoch, document))
}

func (m mortalStore) Erase() error { return m.wrote(m.privateStore.Erase()) }

// A process is killed after each of its durable writes and started again. A model of as many
// records as one that was on disk before is the same, the ledger is charged once, and no secret
// state is left at the end.
func TestTrainPrivateKilled(t *testing.T) {
	deaths := killed(t, dieAt, func(at int, dir string, restart func()) {
		path := filepath.Join(dir, "m.json")
		before, _ := os.ReadFile(path)
		restart()
		if old, err := os.ReadFile(path); len(before) > 0 && strings.Contains(string(before), `"records":10,`) &&
			(err != nil || string(old) != string(before)) {
			t.Errorf("after write %d: another model of 10 records", at)
		}
		if _, err := os.Stat(path + ".state"); err == nil {
			t.Errorf("after write %d: secret state is left", at)
		}
		store, err := dp.OpenFileStore(filepath.Join(dir, "in.svm.privacy"))
		if err != nil {
			t.Fatal(err)
		}
		ledger, err := dp.OpenLedger(store)
		if err != nil {
			t.Fatal(err)
		}
		if spent, err := ledger.Spent("data", 1e-5); err != nil || spent > 1 || spent < 0.99 {
			t.Errorf("after write %d: epsilon %v is spent, %v", at, spent, err)
		}
	})
	// The account with the run, twice journal, ledger and model, the end of the run, the state.
	if deaths != 9 {
		t.Errorf("%d durable writes", deaths)
	}
}
