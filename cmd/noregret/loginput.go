package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/vec"
)

// The formats of logged decisions.
const (
	formatAuto   = "auto"
	formatCSV    = "csv"
	formatJSONL  = "jsonl"
	formatDSJSON = "dsjson"
	formatExport = "export"
)

// logFlags are the flags for reading logged decisions.
type logFlags struct {
	format                         string
	experiment, metric, definition string
	arms                           int
	rewards                        []float64
	flags                          *pflag.FlagSet
}

func newLogFlags() *logFlags { return &logFlags{format: formatAuto, rewards: []float64{0, 1}} }

// logHelp is the part about LOG in the manual of a command.
const logHelp = `LOG is a file of decisions, or - for standard input, uncompressed or compressed by gzip or zstd.
Its format is recognised by its first line, or given by --format:

  csv     a header and the columns arm, propensity and reward; optionally id, time, propensity_0,
          propensity_1 and so on for the logging policy's probabilities of all arms, and target_0,
          target_1 and so on for those of a target policy
  jsonl   JSON lines with the members arm, propensity and reward; optionally id, time, propensities
          and target
  dsjson  the decision logs of Vowpal Wabbit
  export  what "noregret log export" prints; --experiment and --metric choose among several

Arms are numbered from 0; those of an export have names. The number of arms is read off the log,
which takes one more pass, unless --arms gives it. Standard input and pipes are read once: give
--arms.`

// addFlags declares the flags.
func (l *logFlags) addFlags(f *pflag.FlagSet) {
	l.flags = f
	f.Float64SliceVar(&l.rewards, "rewards", l.rewards,
		"lowest and highest reward; an export has its own range if the definition has one")
	f.Var(newChoice(&l.format, formatAuto, formatCSV, formatJSONL, formatDSJSON, formatExport), "format",
		"format of the log; auto finds it by the first line")
	f.IntVar(&l.arms, "arms", l.arms, "number of arms; 0 reads it off the log")
	f.StringVar(&l.experiment, "experiment", l.experiment, "export: name of the experiment, if there are several")
	f.StringVar(&l.metric, "metric", l.metric, "export: the metric that is the reward; the only goal by default")
	f.StringVar(&l.definition, "definition", l.definition,
		"export: file with the experiment's definition in JSON, for an export that begins after it")
}

// validate checks the flags.
func (l *logFlags) validate() error {
	if l.arms < 0 || l.arms > 1<<24 {
		return outOfRange("--arms", l.arms, "0 to 16777216")
	}
	return checkRewards(l.rewards)
}

// checkRewards checks the range of rewards.
func checkRewards(r []float64) error {
	if len(r) != 2 || !vec.IsFinite(r[0]) || !vec.IsFinite(r[1]) || !(r[0] < r[1]) || !vec.IsFinite(r[1]-r[0]) {
		return noregret.Errorf(noregret.Usage, "--rewards", "%v: want two numbers, the lower one first", r)
	}
	return nil
}

// rangeOf returns the lowest and the highest reward of a log: its own range, unless --rewards gives
// another one.
func (l *logFlags) rangeOf(facts *logFacts) (low, high float64) {
	if facts.ranged && !l.flags.Changed("rewards") {
		return facts.low, facts.high
	}
	return l.rewards[0], l.rewards[1]
}

// logFacts are the facts about a log after a pass through it.
type logFacts struct {
	format        string
	arms          int      // the number of arms
	names         []string // of the arms, nil if they have none
	low, high     float64  // the declared range of the rewards
	ranged        bool     // there is a declared range
	rows, skipped int64
	targets       bool // every row has the probabilities of a target policy
	surveyed      bool // the log has been read once, by survey
}

// mostArms is the largest number of arms that is read off a log: a larger number is a mistake.
const mostArms = 1 << 20

// survey finds out what a command must know before it reads the log: the number of arms, and the
// names and the range of an export. It reads the log once, unless --arms gives all of that.
func (a *app) survey(ctx context.Context, l *logFlags, path string) (*logFacts, error) {
	once := path == stdName
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		once = true
	}
	if once && (l.arms == 0 || l.format == formatExport) {
		return nil, noregret.Errorf(noregret.Usage, "--arms",
			"standard input or a pipe is read once: give the number of arms, and an export as a file")
	}
	if once || l.arms > 0 && l.format != formatAuto && l.format != formatExport {
		return &logFacts{arms: l.arms}, nil
	}
	facts, err := a.eachRow(ctx, l, path, func(*offpolicy.Row) error { return nil })
	if err != nil {
		return nil, err
	}
	facts.arms, facts.surveyed = max(facts.arms, 1), true
	return facts, nil
}

// withArms returns the flags with a number of arms.
func (l *logFlags) withArms(arms int) *logFlags {
	out := *l
	out.arms = arms
	return &out
}

// open opens a file, or standard input for "-", and decompresses it.
func (a *app) open(ctx context.Context, path string) (io.ReadCloser, error) {
	return dataset.OpenFile(path, newCancelReader(ctx, a.stdin))
}

// eachRow reads a log and calls each with its rows, which are valid during the call. An error of
// each gets the row's place.
func (a *app) eachRow(ctx context.Context, l *logFlags, path string, each func(r *offpolicy.Row) error) (
	facts *logFacts, err error,
) {
	in, err := a.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	p, err := a.progressOf("rows")
	if err != nil {
		return nil, err
	}
	facts = &logFacts{arms: l.arms, targets: true}
	reader, export, err := l.reader(path, bufio.NewReaderSize(in, 1<<16), a, facts)
	if err != nil {
		return nil, err
	}
	p.Start("read "+path, 0)
	defer p.Finish()
	var row offpolicy.Row
	for {
		if facts.rows&4095 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		err := reader.Read(&row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		facts.rows++
		p.Update(facts.rows)
		if n := max(row.Arm+1, len(row.Propensities), len(row.Target)); l.arms == 0 && n <= mostArms {
			facts.arms = max(facts.arms, n)
		}
		facts.targets = facts.targets && len(row.Target) > 0
		if err := each(&row); err != nil {
			return nil, noregret.Errorf(noregret.CodeOf(err), fmt.Sprintf("%s:%d", path, reader.Line()), "%w", err)
		}
	}
	facts.skipped = reader.Skipped()
	if export != nil {
		facts.names = export.Arms()
		facts.low, facts.high, facts.ranged = export.Range()
		if l.arms == 0 {
			facts.arms = max(facts.arms, len(facts.names))
		}
	}
	return facts, nil
}

// reader makes the reader of the log's format. For an export it also returns that.
func (l *logFlags) reader(path string, in *bufio.Reader, a *app, facts *logFacts) (*offpolicy.Reader,
	*offpolicy.Export, error,
) {
	if facts.format = l.format; facts.format == formatAuto {
		facts.format = sniffLog(in)
	}
	switch facts.format {
	case formatCSV:
		return offpolicy.NewCSV(path, in), nil, nil
	case formatJSONL:
		return offpolicy.NewJSONLines(path, in), nil, nil
	case formatDSJSON:
		return offpolicy.NewDSJSON(path, in), nil, nil
	}
	o := offpolicy.ExportOptions{Experiment: l.experiment, Metric: l.metric}
	if l.definition != "" {
		text, err := a.readFile(l.definition)
		if err != nil {
			return nil, nil, err
		}
		o.Definition = text
	}
	x := offpolicy.NewExport(path, in, o)
	return x.Reader, x, nil
}

// sniffLog finds the format by the members of the first line.
func sniffLog(in *bufio.Reader) string {
	head, _ := in.Peek(1 << 16)
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	head = bytes.TrimSpace(head)
	if len(head) == 0 || head[0] != '{' {
		return formatCSV
	}
	has := func(key string) bool { return bytes.Contains(head, []byte(key)) }
	switch {
	case has(`"_label`) || has(`"EventId"`):
		return formatDSJSON
	case has(`"position"`) && has(`"kind"`):
		return formatExport
	}
	return formatJSONL
}

// armName is the name of an arm, or its number.
func (f *logFacts) armName(arm int) string {
	if arm < len(f.names) {
		return f.names[arm]
	}
	return strconv.Itoa(arm)
}
