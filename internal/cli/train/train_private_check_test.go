package train

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// rehearse runs a command whose standard output is a terminal, or not.
func rehearse(t *testing.T, terminal bool, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	files := newPrivateFiles()
	files.terminal = func(io.Writer) bool { return terminal }
	status = on(files).Run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

const rehearsed = `age,pay,y
30,1.5,yes
50,0.5,no
150,0.5,no
x,0.5,no
,0.5,no
30,-4,maybe
30,2,maybe
30,2,
30,2,"odd
0,0,yes
`

// A rehearsal says what share of the records has a declared label, cannot be read and is outside
// the ranges, on a terminal only. It writes and charges nothing, also no directory.
func TestTrainPrivateCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("in.csv", []byte(rehearsed), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(labels string, more ...string) []string {
		return append([]string{
			"train", "--private", "--check", "--epsilon", "1", "--delta", "1e-5", "--horizon", "100", "--labels",
			labels, "--columns", "age=0:100,pay=0:3", "--label", "y", "--model", "m.json", "in.csv",
		}, more...)
	}
	status, stdout, stderr := rehearse(t, true, args("no,yes")...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, want := range []string{
		`records +10 of at most 100`, `declared labels +4 \(40 %\)`, `negative no +2 \(20 %\)`, `positive yes +2 \(20 %\)`,
		`another or none +3 \(30 %\), such as "maybe"$`, `cannot be read +3 \(30 %\), the first: in\.csv:5: `, `blank lines +0 \(0 %\)`,
		`not finite +0 \(0 %\)`, `all features 0 +1 \(25 %\)`, `outside ranges +1 \(25 %\)`, `outside age=0:100 +1 \(25 %\)`,
		`scaled down +4 \(100 %\)`,
	} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(stdout) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "outside pay") {
		t.Errorf("pay is never outside its range:\n%s", stdout)
	}
	if !strings.Contains(stdout, "6 (60 %) of the records are null records") ||
		!strings.Contains(stdout, "Nothing was written or charged") || stderr != "" {
		t.Errorf("stdout: %s\nstderr: %s", stdout, stderr)
	}
	_, stdout, stderr = rehearse(t, true, args("No,Yes")...) // mistyped
	if !strings.Contains(stdout, "declared labels  0 (0 %)") ||
		!strings.Contains(stdout, "warning: 10 (100 %) of the") || stderr != "" {
		t.Errorf("mistyped labels:\n%s%s", stdout, stderr)
	}
	// Also an error that stops the reading is for the terminal only, as it may quote the data.
	for name, content := range map[string]string{"empty.csv": "age,pay,y\n", "head.csv": "salary9000,y\n3,no\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		with := args("no,yes")
		with[len(with)-1] = name
		status, stdout, stderr := rehearse(t, true, with...)
		if status == 0 || !strings.Contains(stdout, name) ||
			stderr != "noregret: --check: the data cannot be rehearsed: standard output says why\n" {
			t.Errorf("%s: status %d, %q, %q", name, status, stdout, stderr)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}

	status, stdout, stderr = rehearse(t, false, args("no,yes")...)
	if status != 2 || stdout != "" || !strings.Contains(stderr, "--check: standard output is not a terminal") {
		t.Errorf("without a terminal: status %d, %q, %s", status, stdout, stderr)
	}
	status, stdout, stderr = rehearse(t, true, args("no,yes", "--json")...)
	if status != 2 || stdout != "" || !strings.Contains(stderr, "--check: not with --json") {
		t.Errorf("with --json: status %d, %q, %s", status, stdout, stderr)
	}
	if left := listing(t, "."); left != "in.csv" {
		t.Errorf("a rehearsal has written %s", left)
	}
	_, help, _ := rehearse(t, true, "train", "--private", "--help")
	check, private := strings.Index(help, "--private --check"), strings.Index(help, "--private trains")
	if check < 0 || private < check {
		t.Errorf("the help does not name the rehearsal before the training")
	}
}
