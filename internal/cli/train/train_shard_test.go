package train

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestTrainShardRefuses(t *testing.T) {
	const train = "train --measure gmean --model m.json "
	cmds.Refused(t,
		clitest.Refusal{train + "--shard 3/2 x", `--shard: "3/2": want K/N with N from 1 to`},
		clitest.Refusal{train + "--from m.json x", "--from: needs --shard"},
		clitest.Refusal{train + "--schema-from m.json x", "--schema-from: needs --shard"},
		clitest.Refusal{train + "--shard 1/2 --from a --schema-from m.json x", "--schema-from: excludes --from"},
		clitest.Refusal{train + "--shard 1/2 --stream x", "--shard: excludes --stream"},
		clitest.Refusal{train + "--shard 1/2 --folds 3 x", "--folds: no meaning with --shard"},
		clitest.Refusal{train + "--shard 1/2 --valid y x", "--valid: no meaning with --shard"},
		clitest.Refusal{"train --measure macro_f1 --shard 1/2 --model m.json x", "--shard: for two classes only"},
	)
}

// Two passes over two shards, merged in either order.
func TestTrainShards(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) string {
		t.Helper()
		return cmds.Printed(t, args...)
	}
	run("generate", "g1", "--rows", "4000", "--output", at("d.svm"))
	from := []string{}
	for _, pass := range []string{"1", "2"} {
		for _, k := range []string{"1", "2"} {
			run(append([]string{
				"train", "--measure", "f1", "--shard", k + "/2", "--model", at(k), at("d.svm"),
			}, from...)...)
		}
		run("merge", "--model", at("a"), at("1"), at("2"))
		out := run("merge", "--model", at("b"), at("2"), at("1"))
		if !strings.Contains(out, "pass "+pass+" of 2 shards") ||
			!strings.Contains(out, " held-out rows by the models of the 2 shards, each at a threshold tuned on") ||
			!strings.Contains(out, "\non new rows ") {
			t.Errorf("merge prints\n%s", out)
		}
		a, err := os.ReadFile(at("a"))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(at("b")); err != nil || !bytes.Equal(a, b) {
			t.Error("the order of the shards changes the model")
		}
		from = []string{"--from", at("a")}
	}
	run("evaluate", "--model", at("a"), at("d.svm"))

	// A last pass trains nothing, and gives the model probabilities.
	for _, k := range []string{"1", "2"} {
		run("train", "--measure", "f1", "--shard", k+"/2", "--calibration", "platt", "--from", at("a"),
			"--model", at(k), at("d.svm"))
	}
	if out := run("merge", "--model", at("p"), at("2"), at("1")); !strings.Contains(out, "calibrated on 2 shards") ||
		!strings.Contains(out, " held-out rows by this model, each at a threshold tuned on other rows") {
		t.Errorf("merge prints\n%s", out)
	}
	if out := run("predict", "--model", at("p"), "--proba", at("d.svm")); !strings.HasPrefix(out, "0.") {
		t.Errorf("predict prints\n%.200s", out)
	}

	// A missing share is named, and a merge without it says so.
	run("train", "--measure", "f1", "--shard", "3/3", "--model", at("3"), at("d.svm"))
	refused := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := cmds.Run(t.Context(), args, strings.NewReader(""), &out, &errs); code == 0 && args[0] != "predict" {
			t.Errorf("%q: exit 0, want an error", args)
		}
		return errs.String()
	}
	want := "no shard has the rows 1/3, 2/3 of the input sha256:"
	if errs := refused("merge", "--model", at("c"), at("3")); !strings.Contains(errs, want) {
		t.Error(errs)
	}
	run("merge", "--model", at("c"), "--allow-missing", at("3"))
	if out := run("inspect", at("c")); !strings.Contains(out, "no shard has the rows 1/3, 2/3") {
		t.Errorf("no warning of missing shards in\n%s", out)
	}
	for want, args := range map[string][]string{
		"--proba: the model of a shard and one merged":  {"predict", "--model", at("c"), "--proba", at("d.svm")},
		"top 5: how many of them are positive is unkno": {"predict", "--model", at("c"), "--top", "5", at("d.svm")},
		"--calibration: needs scores of the merged mode": {
			"train", "--measure", "f1", "--shard", "1/2", "--calibration", "platt", "--model", at("4"), at("d.svm"),
		},
	} {
		if errs := refused(args...); !strings.Contains(errs, want) {
			t.Errorf("%q prints %q, want %q", args, errs, want)
		}
	}
}
