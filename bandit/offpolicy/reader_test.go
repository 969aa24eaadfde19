package offpolicy

import (
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/noregret/noregret"
)

var readers = map[string]func(string, io.Reader) *Reader{
	"jsonl": NewJSONLines, "csv": NewCSV, "dsjson": NewDSJSON,
}

func readAll(d *Reader) (rows []Row, err error) {
	for {
		var r Row
		if err := d.Read(&r); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
}

const dsLine = `{"_label_cost":-1,"_label_probability":0.8,"_label_Action":2,"_labelIndex":1,` +
	`"Timestamp":"2026-01-02T03:04:05Z","EventId":"e1","a":[2,1],"c":{"x":1},"p":[0.8,0.2]}`

// Lines of the shape that Azure Personalizer and its open predecessor wrote: the chosen action
// first in "a", the probabilities in its order, decimals of float32, features in "c".
const (
	personalizerLine = `{"_label_cost":-1.0,"_label_probability":0.05000000074505806,` +
		`"_label_Action":4,"_labelIndex":3,` +
		`"o":[{"v":1.0,"EventId":"13118d9b4c114f8485d9dec417e3aefe","ActionTaken":false}],` +
		`"Timestamp":"2021-02-04T16:31:29.2460000Z","Version":"1","EventId":"13118d9b4c114f8485d9dec417e3aefe",` +
		`"a":[4,2,1,3],"c":{"Context":[{"time":"Afternoon"}],"_multi":[{"_tag":"a","i":{"constant":1}},{"_tag":"b"},` +
		`{"_tag":"c"},{"_tag":"d","j":[{"roast":"dark"}]}]},"p":[0.05,0.05,0.05,0.85],"VWState":{"m":"ff07/550c"},` +
		`"_original_label_cost":-1.0}`
	deferredLine = `{"_label_cost":0,"_label_probability":1,"_label_Action":1,"_labelIndex":0,"_deferred":true,` +
		`"Timestamp":"2018-10-25T00:01:31.1780000Z","Version":"1","EventId":"28EF","DeferredAction":true,"a":[1],` +
		`"c":{"_multi":[{}]},"p":[1.000000],"VWState":{"m":"DF30/1A5C"}}`
	danglingLine = `{"RewardValue":1.0,"EnqueuedTimeUtc":"2018-01-03T20:12:20.028Z","EventId":"x",` +
		`"Observations":[{"v":1.0,"EventId":"x","ActionId":null}]}`
)

func TestReaders(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := Row{
		ID: "e1", Time: at, Arm: 1, Propensity: 0.8, Reward: 1, Propensities: []float64{0.2, 0.8},
		Target: []float64{0.5, 0.5},
	}
	labelled := full
	labelled.Target = nil
	for _, c := range []struct {
		format, text string
		want         []Row
		skipped      int64
	}{
		{
			"jsonl", `{"id":"e1","time":"2026-01-02T03:04:05Z","arm":1,"propensity":0.8,"reward":1,` +
				`"propensities":[0.2,0.8],"target":[0.5,0.5]}` + "\n" + `{"arm":0,"propensity":1,"reward":-2}`,
			[]Row{full, {Propensity: 1, Reward: -2}},
			0,
		},
		{
			"csv", "reward,arm,propensity\n-2,0,1\n", []Row{{Propensity: 1, Reward: -2}}, 0,
		},
		{
			"csv", "\ufeffid,time,arm,propensity,reward,propensity_1,propensity_0,target_0,target_1\r\n" +
				"e1,2026-01-02T03:04:05Z,1,0.8,1,0.8,0.2,0.5,0.5\r\n", []Row{full}, 0,
		},
		{
			"dsjson", dsLine + "\n" + `{"RewardValue":1,"EventId":"e1"}` + "\n" +
				`{"_skipLearn":true,"_label_cost":0,"_label_probability":1,"_label_Action":1}` + "\n",
			[]Row{labelled},
			2,
		},
		{
			"dsjson", personalizerLine + "\n" + deferredLine + "\n" + `[{"checkpoint":1}]` + "\n" + danglingLine + "\n",
			[]Row{{
				ID:   "13118d9b4c114f8485d9dec417e3aefe",
				Time: time.Date(2021, 2, 4, 16, 31, 29, 246e6, time.UTC), Arm: 3,
				Propensity: 0.05000000074505806, Reward: 1, Propensities: []float64{0.05, 0.05, 0.85, 0.05},
			}},
			3,
		},
		{"jsonl", "", nil, 0},
		{"dsjson", "", nil, 0},
	} {
		d := readers[c.format]("log", strings.NewReader(c.text))
		got, err := readAll(d)
		if err != nil || !reflect.DeepEqual(got, c.want) || d.Skipped() != c.skipped {
			t.Errorf("%s %s: got %+v, %d skipped, error %v", c.format, c.text, got, d.Skipped(), err)
		}
	}
}

// TestReaderErrors checks the place of each fault and a word of its message.
func TestReaderErrors(t *testing.T) {
	const head = "arm,propensity,reward\n"
	for _, c := range []struct{ format, text, place, word string }{
		{"jsonl", `{"arm":1,"propensity":1,"reward":0}` + "\n{", "log:2", "JSON"},
		{"jsonl", `{"propensity":1,"reward":0}`, "log:1", "arm"},
		{"jsonl", `{"arm":1,"propensity":1,"reward":0,"cost":1}`, "log:1", "cost"},
		{"jsonl", `{"arm":1.5,"propensity":1,"reward":0}`, "log:1", "arm"},
		{"jsonl", `{"arm":1,"propensity":1,"reward":0,"time":"noon"}`, "log:1", "RFC 3339"},
		{"csv", "", "log:1", "empty"},
		{"csv", "arm,propensity\n", "log:1", "required"},
		{"csv", "arm,propensity,reward,cost\n", "log:1", "cost"},
		{"csv", "arm,propensity,reward,arm\n", "log:1", "twice"},
		{"csv", "arm,propensity,reward,target_1\n", "log:1", "target_1"},
		{"csv", "\ufeffcost,arm,propensity,reward\n", "log:1", "cost"},
		{"csv", head + "1,1,0\nx,1,0\n", "log:3", "integer"},
		{"csv", head + "1,NaN,0\n", "log:2", "finite"},
		{"csv", head + "1,1,\n", "log:2", "reward"},
		{"csv", head + "1,1\n", "log:2", "CSV"},
		{"dsjson", dsLine + "\nx\n", "log:2", "dsjson"},
		{"dsjson", `{"_label_cost":1}`, "log:1", "_label_Action"},
		{"dsjson", strings.Replace(dsLine, `Index":1`, `Index":0`, 1), "log:1", "_labelIndex"},
		{"dsjson", strings.Replace(dsLine, "[2,1]", "[2,2]", 1), "log:1", "once"},
		{"dsjson", strings.Replace(dsLine, "[2,1]", "[2]", 1), "log:1", "as many"},
		{"dsjson", strings.Replace(dsLine, "[2,1]", "[1,2]", 1), "log:1", "_label_probability"},
		{"dsjson", dsLine + "\n" + strings.Replace(dsLine, "{", `{"pdrop":0.5,`, 1), "log:2", "pdrop"},
		{"dsjson", `{"_outcomes":[{"_label_cost":-1,"_a":[1],"_p":[1]}],"c":{}}`, "log:1", "slots"},
	} {
		_, err := readAll(readers[c.format]("log", strings.NewReader(c.text)))
		if noregret.CodeOf(err) != noregret.BadInput || !strings.HasPrefix(err.Error(), c.place+": ") ||
			!strings.Contains(err.Error(), c.word) {
			t.Errorf("%s %q: got the error %v, want %s and %q", c.format, c.text, err, c.place, c.word)
		}
	}
	for format, open := range readers {
		d := open("log", iotest.ErrReader(io.ErrUnexpectedEOF))
		_, err := readAll(d)
		if noregret.CodeOf(err) != noregret.Internal {
			t.Errorf("%s: a broken disk gives the error %v", format, err)
		}
		if again := d.Read(new(Row)); again != err {
			t.Errorf("%s: the next read gives %v", format, again)
		}
	}
}

// fuzzReader checks that any text gives rows or an error about the data, that a doctor can look at
// the rows, and that an evaluator takes or refuses them.
func fuzzReader(f *testing.F, format string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := readAll(readers[format]("log", strings.NewReader(string(data))))
		if err != nil && (noregret.CodeOf(err) != noregret.BadInput || !strings.HasPrefix(err.Error(), "log:")) {
			t.Fatalf("code %q: %v", noregret.CodeOf(err), err)
		}
		d, e := newDoctor(t, DefaultDoctorOptions(2)), newEvaluator(t, DefaultEvaluatorOptions(2))
		for i := range rows {
			d.Add(&rows[i])
			if err := e.Add(&rows[i], rows[i].Target, nil); err != nil && noregret.CodeOf(err) != noregret.BadInput {
				t.Fatal(err)
			}
		}
		if p := d.Report().RatioP; !(p >= 0 && p <= 1) {
			t.Fatalf("p is %v", p)
		}
		for _, m := range Methods() {
			got := estimate(t, e, m, 0.05)
			for _, i := range []Interval{got.OneLook, got.Sequence} {
				if !(0 <= i.Low && i.Low <= 1 && 0 <= i.High && i.High <= 1) {
					t.Fatalf("%s: %+v", m, got)
				}
			}
		}
	})
}

func FuzzJSONLines(f *testing.F) {
	fuzzReader(f, "jsonl", `{"arm":1,"propensity":0.5,"reward":1,"target":[0.5,0.5],"propensities":[0.5,0.5]}`, "{}\n",
		"")
}

func FuzzCSV(f *testing.F) {
	fuzzReader(f, "csv", "arm,propensity,reward,target_0,target_1\n1,0.5,1,0.5,0.5\n", "arm\n", "a,\"b\n")
}

func FuzzDSJSON(f *testing.F) { fuzzReader(f, "dsjson", dsLine, personalizerLine, "{}\n", "[]") }
