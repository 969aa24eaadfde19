package policy

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/internal/atomicfile"
)

var rewrite = flag.Bool("rewrite", false, "write docs/formats/policy-vectors.json anew")

const vectorsFile = "../docs/formats/policy-vectors.json"

// vectors are policies as a service publishes them, with decisions: the contract of clients in
// other languages.
type vectors []struct {
	Name      string          `json:"name"`
	Policy    json.RawMessage `json:"policy"`
	Decisions []vector        `json:"decisions"`
}

// vector is a decision: the unit, its hash, the arm's index, the propensity and whether the unit is
// held back.
type vector struct {
	Unit       string  `json:"unit"`
	Hash       string  `json:"hash"`
	Arm        int     `json:"arm"`
	Propensity float64 `json:"propensity"`
	HeldBack   bool    `json:"held_back"`
}

// vectorUnits are names that a client may get wrong: of several scripts, with quotes and zeros, and
// of the greatest length.
func vectorUnits() []string {
	units := []string{"a", "ann", "Ann", "ann ", `"'\`, "a\x00b", "żółw", "e\u0301", "\u00e9", "日本", "🦔", "\u2028"}
	long := make([]byte, MaxUnit)
	for i := range long {
		long[i] = 'a' + byte(i%26)
	}
	for i := range 24 {
		units = append(units, fmt.Sprint("unit-", i))
	}
	return append(units, string(long[:55]), string(long[:64]), string(long))
}

// TestVectors checks that the published vectors are what this package decides, after a reading of
// the policy and the other way round. The JavaScript client runs the same file.
func TestVectors(t *testing.T) {
	var made vectors
	for _, c := range []struct {
		name, salt, stream string
		hold               float64
		splits             [][]float64
	}{
		{"one arm", "salt", "arm", 0, [][]float64{{1}}},
		{"two arms", "salt", "arm", 0, [][]float64{{.5, .5}}},
		{"a salt that is not ASCII, and units held back", "żółw", "arm/7", .3, [][]float64{{.2, .5, .3}}},
		{"arms without a share", "", "arm/2/1", 0, [][]float64{{0, .4, 0, .6, 0}}},
		{"moves", "salt", "arm", .1, [][]float64{{.5, .3, .2}, {.2, .3, .5}, {.3, 0, .7}, {.3, .4, .3}}},
		{"all units move", "salt", "arm", 0, [][]float64{{1, 0, 0}, {0, .5, .5}, {0, 0, 1}, {.25, .25, .5}}},
		{"tiny shares", "salt", "arm", 0, [][]float64{{1 - 0x1p-40, 0x1p-40}, {0x1p-40, 1 - 0x1p-40}, {.5, .5}}},
	} {
		var splits []*Split
		for _, s := range c.splits {
			splits = append(splits, mustSplit(t, s...))
		}
		p := policyOf(t, c.hold, splits...)
		p.Salt, p.Stream, p.State, p.Exposure = c.salt, c.stream, Running, "reported"
		text, err := p.Seal()
		if err != nil {
			t.Fatal(err)
		}
		if p, err = Parse(text); err != nil {
			t.Fatal(err)
		}
		var list []vector
		for _, unit := range vectorUnits() {
			d := p.Decide(unit)
			list = append(list, vector{unit, FormatUnit(d.Unit), d.Arm, d.Propensity, d.HeldBack})
		}
		made = append(made, vectors{{c.name, text, list}}...)
	}
	if *rewrite {
		b, err := json.MarshalIndent(made, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.WriteBytes(vectorsFile, append(b, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var have vectors
	if err := json.Unmarshal(b, &have); err != nil {
		t.Fatal(err)
	}
	if len(have) != len(made) {
		t.Fatalf("%d policies, want %d", len(have), len(made))
	}
	for i := range have {
		if d := cmp.Diff(made[i].Decisions, have[i].Decisions); d != "" {
			t.Errorf("%s: -decided +published\n%s", have[i].Name, d)
		}
	}
}
