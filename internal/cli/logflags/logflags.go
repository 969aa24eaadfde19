package logflags

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/named"
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

// Flags are the flags for reading logged decisions.
type Flags struct {
	format                         string
	experiment, metric, definition string
	arms                           int
	rewards                        []float64
	flags                          *pflag.FlagSet
}

// New returns the flags with their defaults.
func New() *Flags { return &Flags{format: formatAuto, rewards: []float64{0, 1}} }

// Help is the part about LOG in the manual of a command.
const Help = `LOG is a file of decisions, or - for standard input, uncompressed or compressed by gzip or zstd.
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

// AddFlags declares the flags.
func (l *Flags) AddFlags(f *pflag.FlagSet) {
	l.flags = f
	f.Float64SliceVar(&l.rewards, "rewards", l.rewards,
		"lowest and highest reward; an export has its own range if the definition has one")
	f.Var(command.NewChoice(&l.format, formatAuto, formatCSV, formatJSONL, formatDSJSON, formatExport), "format",
		"format of the log; auto finds it by the first line")
	f.IntVar(&l.arms, "arms", l.arms, "number of arms; 0 reads it off the log")
	f.StringVar(&l.experiment, "experiment", l.experiment, "export: name of the experiment, if there are several")
	f.StringVar(&l.metric, "metric", l.metric, "export: the metric that is the reward; the only goal by default")
	f.StringVar(&l.definition, "definition", l.definition,
		"export: file with the experiment's definition in JSON, for an export that begins after it")
}

// Validate checks the flags.
func (l *Flags) Validate() error {
	if l.arms < 0 || l.arms > 1<<24 {
		return command.OutOfRange("--arms", l.arms, "0 to 16777216")
	}
	return CheckRewards(l.rewards)
}

// CheckRewards checks the range of rewards.
func CheckRewards(r []float64) error {
	if len(r) != 2 || !vec.IsFinite(r[0]) || !vec.IsFinite(r[1]) || !(r[0] < r[1]) || !vec.IsFinite(r[1]-r[0]) {
		return noregret.Errorf(noregret.Usage, "--rewards", "%v: want two numbers, the lower one first", r)
	}
	return nil
}

// RangeOf returns the lowest and the highest reward of a log: its own range, unless --rewards gives
// another one.
func (l *Flags) RangeOf(facts *Facts) (low, high float64) {
	if facts.ranged && !l.flags.Changed("rewards") {
		return facts.low, facts.high
	}
	return l.rewards[0], l.rewards[1]
}

// Facts are the facts about a log, as far as a pass through it has found them.
type Facts struct {
	Format        string
	Arms          int      // the number of arms
	names         []string // of the arms, nil if they have none
	low, high     float64  // the declared range of the rewards
	ranged        bool     // there is a declared range
	Rows, Skipped int64
	Targets       bool // every row has the probabilities of a target policy
	Surveyed      bool // the log has been read once, by Survey
}

// mostArms is the largest number of arms that is read off a log: a larger number is a mistake.
const mostArms = 1 << 20

// Survey finds out what a command must know before it reads the log: the number of arms, and the
// names and the range of an export. It reads the log once, unless --arms gives all of that.
func (l *Flags) Survey(ctx context.Context, a *command.App, path string) (*Facts, error) {
	once := path == files.StdName
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		once = true
	}
	if once && (l.arms == 0 || l.format == formatExport) {
		return nil, noregret.Errorf(noregret.Usage, "--arms",
			"standard input or a pipe is read once: give the number of arms, and an export as a file")
	}
	if once || l.arms > 0 && l.format != formatAuto && l.format != formatExport {
		return &Facts{Arms: l.arms}, nil
	}
	facts, err := l.EachRow(ctx, a, path, func(*offpolicy.Row) error { return nil })
	if err != nil {
		return nil, err
	}
	facts.Arms, facts.Surveyed = max(facts.Arms, 1), true
	return facts, nil
}

// WithArms returns the flags with a number of arms.
func (l *Flags) WithArms(arms int) *Flags {
	out := *l
	out.arms = arms
	return &out
}

// EachRow reads a log and calls each with its rows, which are valid during the call. An error of
// each gets the row's place.
func (l *Flags) EachRow(ctx context.Context, a *command.App, path string, each func(r *offpolicy.Row) error) (
	facts *Facts, err error,
) {
	in, err := dataset.OpenFile(path, a.Input(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	p, err := a.ProgressOf("rows")
	if err != nil {
		return nil, err
	}
	facts = &Facts{Arms: l.arms, Targets: true}
	reader, export, err := l.reader(path, bufio.NewReaderSize(in, 1<<16), a, facts)
	if err != nil {
		return nil, err
	}
	p.Start("read "+path, 0)
	defer p.Finish()
	var row offpolicy.Row
	for {
		if facts.Rows&4095 == 0 {
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
		facts.Rows++
		p.Update(facts.Rows)
		if n := max(row.Arm+1, len(row.Propensities), len(row.Target)); l.arms == 0 && n <= mostArms {
			facts.Arms = max(facts.Arms, n)
		}
		facts.Targets = facts.Targets && len(row.Target) > 0
		if err := each(&row); err != nil {
			return nil, noregret.Errorf(noregret.CodeOf(err), fmt.Sprintf("%s:%d", path, reader.Line()), "%w", err)
		}
	}
	facts.Skipped = reader.Skipped()
	if export != nil {
		facts.names = export.Arms()
		facts.low, facts.high, facts.ranged = export.Range()
		if l.arms == 0 {
			facts.Arms = max(facts.Arms, len(facts.names))
		}
	}
	return facts, nil
}

// reader makes the reader of the log's format. For an export it also returns that.
func (l *Flags) reader(path string, in *bufio.Reader, a *command.App, facts *Facts) (*offpolicy.Reader,
	*offpolicy.Export, error,
) {
	if facts.Format = l.format; facts.Format == formatAuto {
		facts.Format = sniffLog(in)
	}
	switch facts.Format {
	case formatCSV:
		return offpolicy.NewCSV(path, in), nil, nil
	case formatJSONL:
		return offpolicy.NewJSONLines(path, in), nil, nil
	case formatDSJSON:
		return offpolicy.NewDSJSON(path, in), nil, nil
	}
	o := offpolicy.ExportOptions{Experiment: l.experiment, Metric: l.metric}
	if l.definition != "" {
		text, err := a.ReadFile(l.definition)
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

// ArmName is the name of an arm, or its number.
func (f *Facts) ArmName(arm int) string {
	if arm < len(f.names) {
		return f.names[arm]
	}
	return strconv.Itoa(arm)
}

// Arm returns the index of an arm by its name or number, −1 for none.
func (f *Facts) Arm(name string) int {
	if k := slices.Index(f.names, name); k >= 0 {
		return k
	}
	if k, err := strconv.Atoi(name); err == nil && k >= 0 && k < f.Arms {
		return k
	}
	return -1
}

// Near asks for the arm, or other name, that was probably meant: see [named.DidYouMean].
func (f *Facts) Near(name string, others ...string) string {
	return named.DidYouMean(name, append(others, f.names...))
}

// ArmList names the arms.
func (f *Facts) ArmList() string {
	if len(f.names) > 0 {
		return show.Listed(f.names)
	}
	return fmt.Sprintf("0 to %d", f.Arms-1)
}
