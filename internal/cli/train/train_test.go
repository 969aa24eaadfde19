package train

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
)

func TestTrainRefuses(t *testing.T) {
	cmds.Refused(
		t,
		clitest.Refusal{
			"train --measure f1 --model m.json --passes -1 x",
			"--passes: -1 is out of range, want at least 0",
		},
		clitest.Refusal{
			"train --measure f1 --model m.json --valid y --holdout 0.2 x",
			"--valid: excludes --holdout: its rows are the ones held out",
		},
		clitest.Refusal{"train --model m.json x", `--measure: is required: the measure to maximize (see "noregret train`},
		clitest.Refusal{"train --measure nope --model m.json x", `no measure is named "nope"`},
		clitest.Refusal{
			"train --measure f1 --reward ramp --model m.json x",
			`invalid argument "ramp" for "--reward" flag: no reward is named "ramp"; there are hinge, `,
		},
		clitest.Refusal{
			"train --measure f1 --reward hing --model m.json x",
			`invalid argument "hing" for "--reward" flag: no reward is named "hing"; did you mean hinge? there are `,
		},
		clitest.Refusal{"train --measure f1 --model m.json --save-every 5 x", "--save-every: needs --stream"},
		clitest.Refusal{"train --measure f1 --figures --model m --stream x", "--figures: no meaning with --stream"},
		clitest.Refusal{"train --measure f1 --figures --model m --shard 1/2 x", "--figures: no meaning with --sh"},
		clitest.Refusal{"train --measure f1 --figures --model m --valid y x", "--figures: no meaning with --valid"},
		clitest.Refusal{"train --measure f1 --figures --model m --multilabel x", "--figures: no meaning with --mul"},
		clitest.Refusal{trainPrivate + "--figures x", "--figures: no meaning with --private"},
		clitest.Refusal{"train --measure f1 --model m.json --valid - -", "--valid: standard input is also among DATA"},
		clitest.Refusal{"train --measure macro_f1 --stream --model m.json x", "--stream: for two classes only"},
		clitest.Refusal{
			"train --measure macro_f1 --positive a --model m.json x",
			"--positive: macro_f1 is a measure of all classes",
		},
		clitest.Refusal{
			"train --measure f1 --multilabel --model m.json x",
			`no measure of several labels is named "f1"`,
		},
		clitest.Refusal{"train --measure macro_f1 --folds 2 --model m.json x", "folds has no meaning for multiclass"},
	)
}

// Every setting of package classify is a flag of train with the setting's default.
func TestTrainHasEverySetting(t *testing.T) {
	o := &trainOptions{data: dataflags.New(), fit: newTrainFlags()}
	cmd := newTrainCommand(&command.App{}, newPrivateFiles())
	standard := classify.Options{Seed: 1}.EnsureDefaults()
	for _, s := range classify.Settings() {
		f := cmd.Flags().Lookup(s.Name)
		if f == nil {
			t.Errorf("train has no flag --%s", s.Name)
			continue
		}
		if v, ok := s.InRange(&standard); !ok {
			t.Errorf("the default of --%s, %v, is out of its range", s.Name, v)
		}
		if f.Usage != s.Doc {
			t.Errorf("--%s: %q, the setting says %q", s.Name, f.Usage, s.Doc)
		}
	}
	if o.fit.opt.Seed != 1 {
		t.Error("the default seed is not 1")
	}
}

// The number of labels decides between a measure of two classes and one of several.
func TestTrainDecidesByLabels(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		labels []string
		flags  []string
		multi  bool
	}{
		"two":      {[]string{"a", "b"}, nil, false},
		"three":    {[]string{"a", "b", "c"}, nil, true},
		"positive": {[]string{"a", "b", "c"}, []string{"--positive", "b"}, false},
	} {
		data, model := filepath.Join(dir, name+".svm"), filepath.Join(dir, name+".json")
		text := ""
		for i := range 60 {
			text += tc.labels[i%len(tc.labels)] + " " + []string{"1:1", "2:1", "1:-1 2:-1"}[i%len(tc.labels)] + "\n"
		}
		if err := os.WriteFile(data, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		cmds.Printed(t, append([]string{"train", "--measure", "gmean", "--passes", "2", "--model", model, data},
			tc.flags...)...)
		c, err := classify.LoadModel(model)
		if err != nil {
			t.Fatal(err)
		}
		if multi := c.Task != classify.Binary; multi != tc.multi {
			t.Errorf("%s: a %s model", name, c.Task)
		}
	}
}

// Figures change nothing else in the model, and can be left out.
func TestTrainWithoutFigures(t *testing.T) {
	at := t.TempDir()
	data, text := filepath.Join(at, "a.svm"), ""
	for i := range 90 {
		text += []string{"1 1:1\n", "1 2:1\n", "-1 1:-1 2:-1\n", "-1 2:1\n"}[i%4]
	}
	if err := os.WriteFile(data, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	train := func(more ...string) *classify.Model {
		model := filepath.Join(at, "model.json")
		cmds.Printed(t, append([]string{"train", data, "--model", model, "--measure", "gmean"}, more...)...)
		m, err := classify.LoadModel(model)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, algorithm := range []string{"spade", "auto"} {
		with, without := train("--algorithm", algorithm), train("--algorithm", algorithm, "--figures=false")
		if with.Figures == nil || (without.Figures == nil) != (algorithm == "spade") {
			t.Errorf("%s: figures %v, without %v", algorithm, with.Figures, without.Figures)
		}
		without.Figures = with.Figures
		if !reflect.DeepEqual(with, without) {
			t.Errorf("%s: %+v, without figures %+v", algorithm, with, without)
		}
	}
}

// What is printed of a training says what its folds and its value are.
func TestTrainSaysWhatFoldsAreFor(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		labels int
		flags  []string
		want   []string
	}{
		"two": {2, []string{"f1", "--algorithm", "stamp"}, []string{
			"60 rows, the mean of 5 models, each without one fold of them\n", " on 60 rows, cross-fitted\n",
		}},
		"three": {3, []string{"macro_f1", "--algorithm", "softmax", "--threshold", "tuned"}, []string{
			"60 rows, the thresholds by 3 models, each without one fold of them\n", " on 60 rows, cross-fitted\n",
		}},
		"held": {2, []string{"f1", "--algorithm", "stamp", "--holdout", "0.5"}, []string{
			"30 rows, 30 held out\n", " on held-out data\n",
		}},
	} {
		data, text := filepath.Join(dir, name+".svm"), ""
		for i := range 60 {
			text += []string{"1 1:1\n", "2 2:1\n", "3 1:-1 2:-1\n"}[i%tc.labels]
		}
		if err := os.WriteFile(data, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got := cmds.Printed(t, append([]string{"train", data, "--model", data + ".json", "--measure"}, tc.flags...)...)
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s prints %q, want %q", name, got, want)
			}
		}
	}
}

// The help shows the flags that most trainings use, and --help-all every flag, also without the
// flags that train requires.
func TestTrainHelp(t *testing.T) {
	shown := func(args ...string) (names []string) {
		t.Helper()
		_, flags, found := strings.Cut(cmds.Printed(t, args...), "\nFlags:\n")
		if !found {
			t.Fatalf("%q: no flags in the help", args)
		}
		flags, _, _ = strings.Cut(flags, "\nGlobal Flags:")
		for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`).FindAllStringSubmatch(flags, -1) {
			names = append(names, m[1])
		}
		return names
	}
	main := append([]string{"help", "help-all"}, mainFlags...)
	slices.Sort(main)
	for _, args := range [][]string{{"train", "--help"}, {"help", "train"}, {"train", "-h", "--stream"}} {
		if got := slices.Sorted(slices.Values(shown(args...))); !slices.Equal(got, main) {
			t.Errorf("%q shows %q, want %q", args, got, main)
		}
	}
	all := []string{"help"}
	newTrainCommand(&command.App{}, newPrivateFiles()).Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f.Name)
		}
	})
	slices.Sort(all)
	if got := slices.Sorted(slices.Values(shown("train", "--help-all"))); !slices.Equal(got, all) || len(all) < 70 {
		t.Errorf("--help-all shows %d flags %q, want %q", len(got), got, all)
	}
}
