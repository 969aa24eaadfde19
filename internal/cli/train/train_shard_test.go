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
		if !strings.Contains(out, "pass "+pass+" of 2 shards") {
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
}
